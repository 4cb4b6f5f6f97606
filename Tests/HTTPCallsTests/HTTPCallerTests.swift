import HTTPCalls
import NIOCore
import NIOSSL
import Sealing
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct HTTPCallerTests {
    private func call(
        _ server: LyingServer,
        repetition: HTTPCall.Repetition = .always,
        deadline: Duration = .seconds(20),
        attemptTimeout: Duration = .seconds(10),
        limit: Int = 1000
    ) throws -> HTTPCall {
        HTTPCall(
            label: "test.call",
            method: .post,
            address: try server.address(),
            path: "/auth/token",
            headers: [.init("Authorization", Secret("Bearer hidden-value"))],
            body: Secret(Array("token=hidden-value".utf8)),
            deadline: deadline,
            attemptTimeout: attemptTimeout,
            repetition: repetition,
            maximumReplyBytes: limit
        )
    }

    @Test func sendsWhatIsAskedAndReadsTheReply() async throws {
        try await LyingServer.with({ _, _ in
            LyingServer.reply("200 OK", "{}")
        }) { server in
            let outcome = try await withTestCaller { try await $0.perform(call(server)) }
            #expect(outcome == .reply(HTTPReply(status: 200, body: Array("{}".utf8))))
            let request = try #require(server.received.first)
            #expect(request.method == "POST")
            #expect(request.path == "/auth/token")
            #expect(request.header("User-Agent") == "accountctl")
            #expect(request.header("Authorization") == "Bearer hidden-value")
            #expect(request.body == "token=hidden-value")
        }
    }

    @Test func repeatsWhatSaysNotNow() async throws {
        try await LyingServer.with({ number, _ in
            LyingServer.reply(number < 3 ? "503 Service Unavailable" : "200 OK")
        }) { server in
            let outcome = try await withTestCaller { try await $0.perform(call(server)) }
            #expect(outcome == .reply(HTTPReply(status: 200)))
            #expect(server.received.count == 3)
        }
    }

    @Test func neverRepeatsWhatMayHaveActed() async throws {
        try await LyingServer.with({ _, _ in .sendAndClose("") }) { server in
            let outcome = try await withTestCaller {
                try await $0.perform(call(server, repetition: .onlyIfNothingWasSent))
            }
            #expect(outcome == .interrupted)
            #expect(server.received.count == 1)
        }
    }

    @Test func aDroppedConnectionIsRepeatedWhenThatIsSafe() async throws {
        try await LyingServer.with({ number, _ in
            number == 1 ? .sendAndClose("HTTP/1.1 200 OK\r\nContent-Len") : LyingServer.reply("200 OK")
        }) { server in
            let outcome = try await withTestCaller { try await $0.perform(call(server)) }
            #expect(outcome == .reply(HTTPReply(status: 200)))
            #expect(server.received.count == 2)
        }
    }

    @Test func aTruncatedBodyIsNotAReply() async throws {
        try await LyingServer.with({ _, _ in
            .sendAndClose("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nhalf")
        }) { server in
            let outcome = try await withTestCaller(attempts: 1) { try await $0.perform(call(server)) }
            #expect(outcome == .interrupted)
        }
    }

    @Test func silenceTimesOutAndIsAmbiguous() async throws {
        try await LyingServer.with({ _, _ in .silence }) { server in
            let outcome = try await withTestCaller {
                try await $0.perform(
                    call(server, repetition: .onlyIfNothingWasSent, attemptTimeout: .seconds(1))
                )
            }
            #expect(outcome == .timedOut)
            #expect(server.received.count == 1)
        }
    }

    /// A request that was never sent is not ambiguous, whether the server stalls the handshake or cuts the connection.
    ///
    /// The call's deadline is shorter than the time that a connection may take.
    @Test func whatNeverLeftIsNoDoubt() async throws {
        let silent = try await DeafServer.with { try await sendACode(to: $0, deadline: .milliseconds(500)) }
        #expect(silent == .unreachable(.connectTimedOut))
        let cut = try await CuttingServer.with { try await sendACode(to: $0, deadline: .seconds(20)) }
        #expect(cut == .unreachable(.cut))
    }

    private func sendACode(to port: Int, deadline: Duration) async throws -> HTTPOutcome {
        let call = HTTPCall(
            label: "test.call",
            method: .post,
            address: try ServiceAddress("https://127.0.0.1:\(port)"),
            path: "/auth/token",
            body: Secret(Array("code=x".utf8)),
            deadline: deadline,
            repetition: .onlyIfNothingWasSent
        )
        return try await withTestCaller { try await $0.perform(call) }
    }

    @Test func aBodyThatTricklesEndsAtTheDeadline() async throws {
        try await LyingServer.with({ _, _ in .send("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nhalf") }) { server in
            let outcome = try await withTestCaller(attempts: 1) {
                try await $0.perform(call(server, attemptTimeout: .seconds(3)))
            }
            #expect(outcome == .timedOut)
        }
    }

    @Test func bodiesAreBounded() async throws {
        let huge = String(repeating: "x", count: 100_000)
        try await LyingServer.with({ _, _ in LyingServer.reply("200 OK", huge) }) { server in
            let outcome = try await withTestCaller { try await $0.perform(call(server)) }
            #expect(outcome == .replyTooLarge(status: 200, limit: 1000))
            #expect(server.received.count == 1)
        }
    }

    @Test func retryAfterBeyondTheDeadlineComesBackToTheCaller() async throws {
        try await LyingServer.with({ _, _ in
            LyingServer.reply("429 Too Many Requests", headers: "Retry-After: 120\r\n")
        }) { server in
            let outcome = try await withTestCaller { try await $0.perform(call(server)) }
            #expect(outcome == .reply(HTTPReply(status: 429, retryAfter: .seconds(120))))
            #expect(server.received.count == 1)
        }
    }

    @Test func redirectsAreNotFollowed() async throws {
        try await LyingServer.with({ _, _ in
            LyingServer.reply("302 Found", headers: "Location: /elsewhere\r\n")
        }) { server in
            let outcome = try await withTestCaller { try await $0.perform(call(server)) }
            #expect(outcome == .reply(HTTPReply(status: 302)))
            #expect(server.received.count == 1)
        }
    }

    @Test func nobodyListening() async throws {
        let outcome = try await ClosedPort.with { port in
            let call = HTTPCall(
                label: "test",
                method: .get,
                address: try ServiceAddress("http://127.0.0.1:\(port)"),
                path: "/",
                repetition: .onlyIfNothingWasSent
            )
            return try await withTestCaller { try await $0.perform(call) }
        }
        #expect(outcome == .unreachable(.refused))
    }

    @Test func aNameThatDoesNotExist() async throws {
        let address = try ServiceAddress("https://no-such-host.invalid")
        let outcome = try await withTestCaller(attempts: 1) {
            try await $0.perform(
                HTTPCall(label: "test", method: .get, address: address, path: "/", repetition: .always)
            )
        }
        #expect(outcome == .unreachable(.unknownHost))
    }

    @Test func aServerWithoutTLS() async throws {
        let outcome = try await askOverTLS { Babbler() }
        #expect(outcome == .unreachable(.tlsFailed))
    }

    /// A server can only choose a TLS version that the client offers.
    @Test func versionsOfTLSBelow12AreNotOffered() async throws {
        let (stream, heard) = AsyncStream.makeStream(of: [UInt8].self)
        _ = try await askOverTLS { Babbler(heard) }
        heard.finish()
        var iterator = stream.makeAsyncIterator()
        let first = await iterator.next()
        let hello = try #require(first)
        #expect(Self.versions(in: hello).sorted() == [0x0303, 0x0304])
    }

    /// Returns the versions that a ClientHello offers (RFC 8446, 4.1.2 and 4.2.1); none if the message is incomplete.
    private static func versions(in hello: [UInt8]) -> [Int] {
        func number(at place: Int) -> Int {
            place + 1 < hello.count ? Int(hello[place]) * 256 + Int(hello[place + 1]) : 0
        }
        // Skip the headers of record and message, the legacy version and the random bytes; then the session id, the
        // cipher suites and the compression methods.
        var place = 5 + 4 + 2 + 32
        place += 1 + number(at: place) / 256
        place += 2 + number(at: place)
        place += 1 + number(at: place) / 256
        // Skip the length of all extensions; each extension begins with its type and its length.
        place += 2
        while place + 4 < hello.count {
            let (kind, length) = (number(at: place), number(at: place + 2))
            if kind == 43 { return stride(from: place + 5, to: place + 4 + length, by: 2).map { number(at: $0) } }
            place += 4 + length
        }
        return []
    }

    @Test func aCertificateThatNobodyVouchesFor() async throws {
        try await TestCertificate.with { files in
            let chain = try NIOSSLCertificate.fromPEMFile(files.certificate)
            let key = try NIOSSLPrivateKey(file: files.key, format: .pem)
            let context = try NIOSSLContext(
                configuration: .makeServerConfiguration(
                    certificateChain: chain.map { .certificate($0) },
                    privateKey: .privateKey(key)
                )
            )
            let outcome = try await askOverTLS { NIOSSLServerHandler(context: context) }
            #expect(outcome == .unreachable(.tlsFailed))
        }
    }

    /// Calls a server over TLS whose connections have this handler, and returns the outcome.
    private func askOverTLS(_ handler: @escaping @Sendable () -> any ChannelHandler) async throws -> HTTPOutcome {
        try await LoopbackServer.with(handler) { port in
            let address = try ServiceAddress("https://localhost:\(port)")
            return try await withTestCaller(attempts: 1) {
                try await $0.perform(
                    HTTPCall(
                        label: "test",
                        method: .get,
                        address: address,
                        path: "/",
                        repetition: .onlyIfNothingWasSent
                    )
                )
            }
        }
    }

    /// Answers any data with bytes that belong to no protocol.
    private final class Babbler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let heard: AsyncStream<[UInt8]>.Continuation?

        /// - Parameter heard: receives the data that arrives.
        init(_ heard: AsyncStream<[UInt8]>.Continuation? = nil) {
            self.heard = heard
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            heard?.yield(Array(unwrapInboundIn(data).readableBytesView))
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: "not tls at all\r\n")), promise: nil)
        }
    }

    @Test func callsToOneHostAreBounded() async throws {
        let (stream, arrivals) = AsyncStream.makeStream(of: Void.self)
        try await LyingServer.with({ _, _ in
            arrivals.yield()
            return .silence
        }) { server in
            try await withTestCaller(attempts: 1, callsPerHost: 2) { caller in
                try await withThrowingTaskGroup(of: HTTPOutcome.self) { group in
                    for _ in 0..<2 {
                        group.addTask { try await caller.perform(call(server)) }
                    }
                    var iterator = stream.makeAsyncIterator()
                    _ = await iterator.next()
                    _ = await iterator.next()
                    let third = try await caller.perform(call(server, deadline: .milliseconds(50)))
                    #expect(third == .unreachable(.busy))
                    #expect(server.received.count == 2)
                    group.cancelAll()
                }
            }
        }
    }

    @Test func cancellingEndsTheCall() async throws {
        let (stream, arrivals) = AsyncStream.makeStream(of: Void.self)
        try await LyingServer.with({ _, _ in
            arrivals.yield()
            return .silence
        }) { server in
            try await withTestCaller { caller in
                let call = try call(server)
                let task = Task { try await caller.perform(call) }
                var iterator = stream.makeAsyncIterator()
                _ = await iterator.next()
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
            }
        }
    }

    @Test func nothingSecretIsDescribed() async throws {
        try await LyingServer.with({ _, _ in LyingServer.reply("200 OK", "hidden-value") }) { server in
            let call = try call(server)
            let outcome = try await withTestCaller { try await $0.perform(call) }
            var dumped = ""
            dump(call, to: &dumped)
            for text in ["\(call)", String(reflecting: call), "\(outcome)", String(reflecting: outcome), dumped] {
                #expect(!text.contains("hidden-value"))
            }
        }
    }
}
