import Foundation
import Synchronization
import TestSupport

@testable import MailRelay

/// A name server on loopback whose answers, true or false, a test gives: UDP and TCP on one port, in one thread.
final class DNSTestServer: Sendable {
    /// A query that arrived.
    struct Request {
        let question: Question
        let id: UInt16
        let isTCP: Bool
        let checkingDisabled: Bool
        let hasEDNS: Bool

        /// Builds a reply to this request; `change` can alter it in any way.
        func reply(code: UInt16 = 0, _ change: (inout MessageBuilder) -> Void = { _ in }) -> [UInt8] {
            var builder = MessageBuilder(question, code: code)
            builder.id = id
            change(&builder)
            return builder.bytes
        }
    }

    let port: UInt16
    private let datagrams: Int32
    private let listener: Int32
    private let stopped = Atomic(false)
    private let handler: @Sendable (Request) -> [[UInt8]]

    var address: NameServer {
        NameServer(address: .v4(IPv4Address(rawValue: 0x7F00_0001)), port: port)
    }

    /// Starts a server whose handler returns the messages to send, or no message to stay silent.
    ///
    /// Without `tcp`, connections are refused.
    static func withServer<Result>(
        tcp: Bool = true,
        _ handler: @escaping @Sendable (Request) -> [[UInt8]],
        _ body: (DNSTestServer) async throws -> Result
    ) async throws -> Result {
        let server = try DNSTestServer(tcp: tcp, handler)
        let thread = Thread { server.run() }
        thread.start()
        defer { server.stopped.store(true, ordering: .releasing) }
        return try await body(server)
    }

    private init(tcp: Bool, _ handler: @escaping @Sendable (Request) -> [[UInt8]]) throws {
        self.handler = handler
        (datagrams, listener, port) = try Self.sockets(tcp: tcp)
    }

    /// Binds sockets to a port that is free for UDP and TCP.
    ///
    /// Each attempt makes new sockets, since a bound socket cannot be bound again.
    private static func sockets(tcp: Bool) throws -> (datagrams: Int32, listener: Int32, port: UInt16) {
        for _ in 0..<50 {
            let (datagrams, port) = try Socket.bind(.datagrams)
            guard tcp else { return (datagrams, -1, UInt16(port)) }
            if let (listener, _) = try? Socket.listen(port: port) { return (datagrams, listener, UInt16(port)) }
            close(datagrams)
        }
        throw TestSupportError("no port is free for UDP and TCP")
    }

    private func run() {
        while !stopped.load(ordering: .acquiring) {
            var slots = [
                pollfd(fd: datagrams, events: Int16(POLLIN), revents: 0),
                pollfd(fd: listener, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&slots, 2, 20) > 0 else { continue }
            if slots[0].revents != 0 { answerDatagram() }
            if slots[1].revents != 0 { answerConnection() }
        }
        close(datagrams)
        if listener >= 0 { close(listener) }
    }

    private func answerDatagram() {
        var buffer = [UInt8](repeating: 0, count: 4096)
        var sender = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        withUnsafeMutablePointer(to: &sender) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                let count = recvfrom(datagrams, &buffer, buffer.count, 0, generic, &length)
                guard count > 0, let request = request(Array(buffer[..<count]), isTCP: false) else { return }
                for reply in handler(request) { _ = sendto(datagrams, reply, reply.count, 0, generic, length) }
            }
        }
    }

    private func answerConnection() {
        let connection = accept(listener, nil, nil)
        guard connection >= 0 else { return }
        defer { close(connection) }
        guard let head = read(2, from: connection),
            let body = read(Int(head[0]) << 8 | Int(head[1]), from: connection),
            let request = request(body, isTCP: true)
        else { return }
        for reply in handler(request) {
            let bytes = MessageBuilder.word(UInt16(reply.count)) + reply
            var sent = 0
            while sent < bytes.count {
                let count = bytes[sent...].withUnsafeBytes {
                    send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { return }
                sent += count
            }
        }
    }

    private func read(_ count: Int, from connection: Int32) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count < count {
            var buffer = [UInt8](repeating: 0, count: count - bytes.count)
            let got = recv(connection, &buffer, buffer.count, 0)
            guard got > 0 else { return nil }
            bytes += buffer[..<got]
        }
        return bytes
    }

    private func request(_ bytes: [UInt8], isTCP: Bool) -> Request? {
        guard let message = try? DNSMessage(bytes), let question = message.questions.first?.question else { return nil }
        return Request(
            question: question,
            id: message.id,
            isTCP: isTCP,
            checkingDisabled: message.flags & 0x0010 != 0,
            hasEDNS: message.edns != nil
        )
    }
}
