import Foundation
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A TCP proxy in front of a server on 127.0.0.1 that breaks connections in the ways networks do.
///
/// The proxy itself listens on 127.0.0.1 or on another address 127.0.0.x.
package final class TCPProxy: Sendable {
    /// How the proxy treats the bytes of its connections.
    package enum Behaviour: Sendable, Equatable {
        /// Forwards them.
        case forward
        /// Forwards them like a gateway that normalizes the paths of requests; see ``GatewayPath``.
        case forwardResolved
        /// Forwards nothing in either direction and keeps the connections open.
        case blackHole
        /// Closes the client's side of each connection.
        case cut
        /// Forwards until the client sends this text; then drops either that data or the server's answer to it, and
        /// closes the connection.
        case cutAt(String, afterServerAnswered: Bool)
        /// Forwards until the client sends this text; drops that data and turns into ``blackHole``.
        case silentAt(String)
        /// Forwards until the client sends this text; forwards that data too and turns into ``muted``.
        case mutedAt(String)
        /// Forwards the client's data and holds the server's answers back.
        case muted
        /// Forwards; once the server has answered what has this text, its connection pauses for so many seconds.
        case stallsAfter(String, seconds: Double)
        /// Closes the server-to-client direction and keeps accepting the client's data.
        case halfClose
    }

    private struct State {
        var behaviour = Behaviour.forward
        var isRunning = true
        var accepted = 0
    }

    /// The port to which clients connect.
    package let port: Int

    private let targets: [Int]
    private let listener: Int32
    private let state = Mutex(State())

    private init(targets: [Int], host: UInt8, port: Int) throws {
        (listener, self.port) = try Socket.listen(host: host, port: port)
        self.targets = targets
    }

    /// Runs a proxy for the duration of a closure, to a port or to each of several in turn.
    package static func with<Result: Sendable>(
        to targets: Int...,
        onHost host: UInt8 = 1,
        port: Int = 0,
        _ body: @Sendable (TCPProxy) async throws -> Result
    ) async throws -> Result {
        let proxy = try TCPProxy(targets: targets, host: host, port: port)
        Thread.detachNewThread { proxy.accept() }
        defer { proxy.state.withLock { $0.isRunning = false } }
        return try await body(proxy)
    }

    /// How the proxy behaves from now on, also on connections that are already open.
    package var behaviour: Behaviour {
        get { state.withLock { $0.behaviour } }
        set { state.withLock { $0.behaviour = newValue } }
    }

    /// The number of connections accepted so far.
    package var connections: Int { state.withLock { $0.accepted } }

    private func accept() {
        defer { close(listener) }
        while state.withLock({ $0.isRunning }) {
            guard Self.poll([listener]).contains(listener) else { continue }
            let client = systemAccept(listener)
            guard client >= 0 else { continue }
            _ = fcntl(client, F_SETFD, FD_CLOEXEC)
            let number = state.withLock { state in
                defer { state.accepted += 1 }
                return state.accepted
            }
            let target = targets[number % targets.count]
            Thread.detachNewThread { self.serve(client, target) }
        }
    }

    private func serve(_ client: Int32, _ target: Int) {
        defer { close(client) }
        guard let server = try? Socket.connect(port: target) else { return }
        defer { close(server) }
        var isHalfClosed = false
        var stall: Double?
        while true {
            let (behaviour, isRunning) = state.withLock { ($0.behaviour, $0.isRunning) }
            if !isRunning || behaviour == .cut { return }
            if behaviour == .halfClose, !isHalfClosed {
                isHalfClosed = true
                shutdown(client, Int32(SHUT_WR))
            }
            // Polls with a short timeout, to notice a change of behaviour; unlike the product, a fixture may poll.
            let ready = Self.poll(behaviour == .blackHole ? [] : behaviour == .muted ? [client] : [client, server])
            if ready.contains(client) {
                guard var bytes = Socket.receive(from: client) else { return }
                // Read the behaviour again: the test may have changed it before the client sent these bytes.
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
                if case .stallsAfter(let words, let seconds) = self.behaviour, Self.contains(bytes, words) {
                    stall = seconds
                }
                if self.behaviour == .forwardResolved { bytes = GatewayPath.resolve(bytes) }
                guard isHalfClosed || Socket.sendAll(bytes[...], to: server) else { return }
            }
            if ready.contains(server) {
                guard let bytes = Socket.receive(from: server) else { return }
                guard isHalfClosed || Socket.sendAll(bytes[...], to: client) else { return }
                if let seconds = stall {
                    stall = nil
                    Thread.sleep(forTimeInterval: seconds)
                }
            }
        }
    }

    private static func contains(_ bytes: [UInt8], _ words: String) -> Bool {
        String(decoding: bytes, as: UTF8.self).contains(words)
    }

    /// Returns the descriptors that are ready, after 10 ms at most.
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
