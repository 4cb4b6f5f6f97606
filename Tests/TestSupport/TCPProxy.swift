import Foundation
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Stands between a client and a server on 127.0.0.1, itself there or on another address 127.0.0.x, and breaks
/// connections in the ways networks do.
package final class TCPProxy: Sendable {
    /// What the proxy does to bytes.
    package enum Behaviour: Sendable, Equatable {
        /// Passes them on.
        case forward
        /// Passes them on as a gateway does that resolves the paths of requests.
        case forwardResolved
        /// Takes them and passes nothing on, in neither direction, and closes nothing.
        case blackHole
        /// Closes the client's side of each connection.
        case cut
        /// Passes on what the client sends until it holds these words; then either loses them or loses the server's
        /// answer, and cuts.
        case cutAt(String, afterServerAnswered: Bool)
        /// Passes on what the client sends until it holds these words; from then on a black hole.
        case silentAt(String)
        /// Passes on what the client sends; from what holds these words on, it keeps what the server says for itself.
        case mutedAt(String)
        /// Passes on what the client sends, and keeps what the server says for itself.
        case muted
        /// Tells the client that the server will send no more, and goes on taking what the client sends.
        case halfClose
    }

    private struct State {
        var behaviour = Behaviour.forward
        var isRunning = true
        var accepted = 0
    }

    /// The port clients connect to.
    package let port: Int

    private let target: Int
    private let listener: Int32
    private let state = Mutex(State())

    private init(target: Int, host: UInt8, port: Int) throws {
        (listener, self.port) = try Socket.listen(host: host, port: port)
        self.target = target
    }

    /// Runs a proxy to a port for the duration of a closure.
    package static func with<Result: Sendable>(
        to target: Int,
        onHost host: UInt8 = 1,
        port: Int = 0,
        _ body: @Sendable (TCPProxy) async throws -> Result
    ) async throws -> Result {
        let proxy = try TCPProxy(target: target, host: host, port: port)
        Thread.detachNewThread { proxy.accept() }
        defer { proxy.state.withLock { $0.isRunning = false } }
        return try await body(proxy)
    }

    /// What the proxy does from now on, to open connections too.
    package var behaviour: Behaviour {
        get { state.withLock { $0.behaviour } }
        set { state.withLock { $0.behaviour = newValue } }
    }

    /// How many connections were made through the proxy.
    package var connections: Int { state.withLock { $0.accepted } }

    private func accept() {
        defer { close(listener) }
        while state.withLock({ $0.isRunning }) {
            guard Self.poll([listener]).contains(listener) else { continue }
            let client = systemAccept(listener)
            guard client >= 0 else { continue }
            _ = fcntl(client, F_SETFD, FD_CLOEXEC)
            state.withLock { $0.accepted += 1 }
            Thread.detachNewThread { self.serve(client) }
        }
    }

    private func serve(_ client: Int32) {
        defer { close(client) }
        guard let server = try? Socket.connect(port: target) else { return }
        defer { close(server) }
        var isHalfClosed = false
        while true {
            let (behaviour, isRunning) = state.withLock { ($0.behaviour, $0.isRunning) }
            if !isRunning || behaviour == .cut { return }
            if behaviour == .halfClose, !isHalfClosed {
                isHalfClosed = true
                shutdown(client, Int32(SHUT_WR))
            }
            // Short turns, so that a change of behaviour is seen; a fixture may do what a product must not.
            let ready = Self.poll(behaviour == .blackHole ? [] : behaviour == .muted ? [client] : [client, server])
            if ready.contains(client) {
                guard var bytes = Socket.receive(from: client) else { return }
                // Looked at again: these bytes may be the answer to a change.
                if case .cutAt(let words, let afterServerAnswered) = self.behaviour, Self.contains(bytes, words) {
                    guard afterServerAnswered, Socket.sendAll(bytes[...], to: server) else { return }
                    _ = Socket.receive(from: server)
                    return
                }
                if case .silentAt(let words) = self.behaviour, Self.contains(bytes, words) {
                    self.behaviour = .blackHole
                    continue
                }
                if case .mutedAt(let words) = self.behaviour, Self.contains(bytes, words) { self.behaviour = .muted }
                if self.behaviour == .forwardResolved { bytes = GatewayPath.resolve(bytes) }
                guard isHalfClosed || Socket.sendAll(bytes[...], to: server) else { return }
            }
            if ready.contains(server) {
                guard let bytes = Socket.receive(from: server) else { return }
                guard isHalfClosed || Socket.sendAll(bytes[...], to: client) else { return }
            }
        }
    }

    private static func contains(_ bytes: [UInt8], _ words: String) -> Bool {
        String(decoding: bytes, as: UTF8.self).contains(words)
    }

    /// Which of the descriptors are ready, after 10 ms at most.
    private static func poll(_ descriptors: [Int32]) -> Set<Int32> {
        var slots = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        guard systemPoll(&slots, nfds_t(slots.count), 10) > 0 else { return [] }
        return Set(slots.filter { $0.revents != 0 }.map(\.fd))
    }
}

// The members above hide the C functions of the same names.
private func systemAccept(_ descriptor: Int32) -> Int32 { accept(descriptor, nil, nil) }

private func systemPoll(_ slots: UnsafeMutablePointer<pollfd>, _ count: nfds_t, _ milliseconds: Int32) -> Int32 {
    poll(slots, count, milliseconds)
}
