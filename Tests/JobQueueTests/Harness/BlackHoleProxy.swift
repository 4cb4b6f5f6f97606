import Foundation
import Synchronization
import TestSupport

/// A TCP proxy that can drop all data while it keeps its connections open, as a broken network does.
final class BlackHoleProxy: Sendable {
    private struct State {
        var swallows = false
        var isClosed = false
        var descriptors: [Int32] = []
    }

    let port: UInt16
    private let listening: Int32
    private let state = Mutex(State())

    init(to target: UInt16) throws {
        let listening = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = Self.address(0)
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listening, $0, size) }
        }
        var length = size
        withUnsafeMutablePointer(to: &address) { pointer in
            _ = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listening, $0, &length) }
        }
        guard isBound == 0, listen(listening, 64) == 0 else { throw TestSupportError("the proxy cannot listen") }
        self.listening = listening
        port = UInt16(bigEndian: address.sin_port)
        let proxy = self
        Thread.detachNewThread { proxy.serve(target) }
    }

    private func serve(_ target: UInt16) {
        while true {
            let client = accept(listening, nil, nil)
            guard client >= 0 else { return }
            let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = Self.address(target)
            _ = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            state.withLock { $0.descriptors += [client, server] }
            Thread.detachNewThread { [self] in pump(client, server) }
            Thread.detachNewThread { [self] in pump(server, client) }
        }
    }

    /// Sets whether the proxy drops what it receives.
    func swallow(_ swallows: Bool) {
        state.withLock { $0.swallows = swallows }
    }

    func close() {
        let descriptors = state.withLock { state in
            state.isClosed = true
            return state.descriptors
        }
        shutdown(listening, Int32(SHUT_RDWR))
        for descriptor in descriptors { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }

    private func pump(_ from: Int32, _ to: Int32) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(from, &buffer, buffer.count)
            guard count > 0 else { break }
            if state.withLock({ $0.swallows }) { continue }
            var sent = 0
            while sent < count {
                let written = buffer.withUnsafeBytes { bytes in
                    send(to, bytes.baseAddress.map { $0 + sent }, count - sent, Int32(MSG_NOSIGNAL))
                }
                guard written > 0 else { return }
                sent += written
            }
        }
        // A connection that lost bytes stays half-open: the other side has to find out.
        if !state.withLock({ $0.swallows && !$0.isClosed }) { shutdown(to, Int32(SHUT_RDWR)) }
    }

    private static func address(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }
}
