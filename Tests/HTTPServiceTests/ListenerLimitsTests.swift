import HTTPService
import TestSupport
import Testing

/// The limits of the public listener bound what a slow or greedy client can take from it.
@Suite(.timeLimit(.minutes(5))) struct ListenerLimitsTests {
    /// Runs a listener whose handler records the bodies that it receives.
    private func withListener(
        _ limits: ListenerLimits,
        handler: @escaping @Sendable () async throws -> Void = {},
        _ body: (_ port: Int, _ told: Collected) async throws -> Void
    ) async throws {
        let told = Collected()
        try await ListenerStage.withPort({ started in
            try await PublicListener(
                address: ListenerAddress(host: "127.0.0.1", port: 0),
                limits: limits,
                logger: .silent,
                notification: { bytes in
                    told.add([String(decoding: bytes, as: UTF8.self)])
                    try await handler()
                    return .accepted
                },
                started: started
            ).run()
        }) { port in try await body(port, told) }
    }

    private static func request(_ body: String, length: Int? = nil) -> String {
        let length = length ?? body.utf8.count
        return "POST /apple/notifications HTTP/1.1\r\nHost: a\r\nContent-Length: \(length)\r\n\r\n\(body)"
    }

    /// Limits with so little time for a request that no other limit can end it first, and enough of it for one that is
    /// sent at once, even on a busy machine.
    private static let hasty = limits {
        $0.request = .seconds(3)
        $0.idle = .seconds(3600)
    }

    private static func limits(_ change: (inout ListenerLimits) -> Void) -> ListenerLimits {
        var limits = ListenerLimits()
        change(&limits)
        return limits
    }

    @Test(
        "A request that trickles in is cut off: the head or body on a new connection, the body on a used one",
        arguments: [
            ["POST /apple/not"], [request("x", length: 9000)], [request("first"), request("x", length: 9000)],
        ]
    )
    func slow(beginnings: [String]) async throws {
        try await withListener(Self.hasty) { port, told in
            try await TCPClient.with(port: port) { client in
                for beginning in beginnings.dropLast() {
                    client.send(beginning)
                    #expect(await client.receive()?.hasPrefix("HTTP/1.1 200") == true)
                }
                client.send(beginnings.last ?? "")
                // The client is never silent for long, so only the limit on the whole request can close the connection;
                // otherwise the suite's time limit ends the test.
                while client.send("x") { try await Task.sleep(for: .milliseconds(20)) }
            }
            #expect(told.all == Array(repeating: "first", count: max(0, beginnings.count - 1)))
        }
    }

    @Test("A connection on which nothing is sent is closed")
    func silent() async throws {
        try await withListener(Self.hasty) { port, _ in
            try await TCPClient.with(port: port) { #expect(await $0.receive() == nil) }
        }
    }

    @Test("A connection that waits for its next request longer than a request may take is kept open")
    func idle() async throws {
        try await withListener(Self.limits { $0.request = .seconds(3) }) { port, told in
            try await TCPClient.with(port: port) { client in
                for text in ["first", "second"] {
                    client.send(Self.request(text))
                    #expect(await client.receive()?.hasPrefix("HTTP/1.1 200") == true)
                    // Only the passing of time is tested here, so there is no event to wait for.
                    try await Task.sleep(for: .seconds(4))
                }
            }
            #expect(told.all == ["first", "second"])
        }
    }

    @Test("A handler that does not answer in time ends the connection")
    func unanswered() async throws {
        try await withListener(
            Self.limits { $0.answer = .milliseconds(300) },
            handler: { try await Task.sleep(for: .seconds(600)) }
        ) { port, _ in
            try await TCPClient.with(port: port) { client in
                client.send(Self.request("a"))
                #expect(await client.receive() == nil)
            }
        }
    }

    @Test("A client that connects when all connections are taken waits until one is free")
    func crowd() async throws {
        try await withListener(Self.limits { $0.connections = 2 }) { port, told in
            try await TCPClient.with(port: port) { first in
                try await TCPClient.with(port: port) { second in
                    for client in [first, second] {
                        client.send(Self.request("served"))
                        #expect(await client.receive()?.hasPrefix("HTTP/1.1 200") == true)
                    }
                    try await TCPClient.with(port: port) { third in
                        third.send(Self.request("third"))
                        for _ in 0..<20 {
                            first.send(Self.request("served"))
                            #expect(await first.receive()?.hasPrefix("HTTP/1.1 200") == true)
                        }
                        #expect(!told.all.contains("third"))
                        second.close()
                        #expect(await third.receive()?.hasPrefix("HTTP/1.1 200") == true)
                    }
                }
            }
        }
    }
}
