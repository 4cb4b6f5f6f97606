import Synchronization
import Testing

@testable import MailRelay

@Suite("Asking name servers", .timeLimit(.minutes(5)))
struct CaresResolverTests {
    static let name = DNSMessageTests.name("mail.example.test")
    static let question = Question(name, .txt)
    static let answer = MessageBuilder.record([0xC0, 12], .txt, MessageBuilder.text([Array("v=spf1 -all".utf8)]))

    static func soon() -> ContinuousClock.Instant { .now.advanced(by: .seconds(20)) }

    /// Asks one question of a server with this handler; tests of a server that stays silent pass short time-outs.
    func outcome(
        tcp: Bool = true,
        of question: Question = Self.question,
        deadline: Duration = .seconds(20),
        tryTimeout: Duration = .seconds(5),
        tries: Int = 2,
        _ handler: @escaping @Sendable (DNSTestServer.Request) -> [[UInt8]]
    ) async throws -> LookupOutcome {
        try await DNSTestServer.withServer(tcp: tcp, handler) { server in
            let configuration = ResolverConfiguration(servers: [server.address], tryTimeout: tryTimeout, tries: tries)
            return try await CaresResolver.withResolver(configuration) { resolver in
                await resolver.lookup(question, by: .now.advanced(by: deadline))
            }
        }
    }

    static let records = LookupOutcome.records(
        LookupOutcome.Answer(records: [.text([Array("v=spf1 -all".utf8)])], ttl: 300)
    )

    @Test("an answer arrives")
    func answer() async throws {
        let outcome = try await outcome { [$0.reply { $0.answers.append(Self.answer) }] }
        #expect(outcome == Self.records)
    }

    @Test("names with dots, spaces and odd bytes in labels are asked for as they are")
    func oddNames() async throws {
        let odd = try DomainName(labels: [Array("a.b!".utf8), [0, 0xFF, 0x20, 0x5C], Array("test".utf8)])
        let asked = Mutex<DomainName?>(nil)
        _ = try await DNSTestServer.withServer({ request in
            asked.withLock { $0 = request.question.name }
            return [request.reply()]
        }) { server in
            try await CaresResolver.withResolver(ResolverConfiguration(servers: [server.address])) { resolver in
                await resolver.lookup(Question(odd, .a), by: Self.soon())
            }
        }
        #expect(asked.withLock { $0 } == odd)
    }

    @Test("a truncated answer is requested again over TCP, up to 64 kB", arguments: [16, 240])
    func truncation(strings: Int) async throws {
        let text = (0..<strings).map { [UInt8](repeating: UInt8($0), count: 255) }
        let outcome = try await outcome { request in
            guard request.isTCP else { return [request.reply { $0.flags |= 0x0200 }] }
            return [
                request.reply { $0.answers.append(MessageBuilder.record([0xC0, 12], .txt, MessageBuilder.text(text))) }
            ]
        }
        #expect(outcome == .records(LookupOutcome.Answer(records: [.text(text)], ttl: 300)))
    }

    @Test("a truncated answer from a server without TCP is not an answer")
    func truncationWithoutTCP() async throws {
        let outcome = try await outcome(tcp: false) { [$0.reply { $0.flags |= 0x0200 }] }
        #expect(outcome == .unreachable)
        #expect(outcome.description.contains("TCP"), "the server was reached, by UDP: \(outcome)")
    }

    @Test("silence is reported as a timeout within a bounded time")
    func silence() async throws {
        let start = ContinuousClock.now
        let outcome = try await outcome(tryTimeout: .milliseconds(150)) { _ in [] }
        #expect(outcome == .timeout)
        #expect(.now - start < .seconds(19))
        #expect(outcome.description.contains("TCP"), "a firewall that drops it looks the same: \(outcome)")
    }

    @Test("the deadline of the whole check ends a lookup early")
    func deadline() async throws {
        try await DNSTestServer.withServer({ _ in [] }) { server in
            let slow = ResolverConfiguration(servers: [server.address], tryTimeout: .seconds(30))
            try await CaresResolver.withResolver(slow) { resolver in
                let start = ContinuousClock.now
                #expect(await resolver.lookup(Self.question, by: start.advanced(by: .milliseconds(200))) == .timeout)
                #expect(.now - start < .seconds(25))
                #expect(await resolver.lookup(Self.question, by: start) == .timeout)
            }
        }
    }

    @Test("a question is asked again after one lost datagram")
    func repeated() async throws {
        let asked = Mutex(0)
        let outcome = try await outcome(tryTimeout: .milliseconds(150), tries: 6) { request in
            asked.withLock { $0 += 1 }
            return asked.withLock { $0 } == 1 ? [] : [request.reply { $0.answers.append(Self.answer) }]
        }
        #expect(outcome == Self.records)
    }

    @Test("failures of servers are told apart")
    func failures() async throws {
        #expect(try await outcome { [$0.reply(code: 2)] } == .serverFailure(LookupOutcome.ServerFailure()))
        #expect(try await outcome { [$0.reply(code: 5)] } == .refused)
        #expect(try await outcome { [$0.reply(code: 4)] } == .badReply(.responseCode(4)))
        #expect(try await outcome { [$0.reply(code: 3)] } == .nxDomain(LookupOutcome.Absence()))
        #expect(try await outcome { [$0.reply()] } == .noData(LookupOutcome.Absence()))
    }

    @Test("data that is returned only with checking disabled has invalid signatures")
    func bogus() async throws {
        let outcome = try await outcome { request in
            guard request.checkingDisabled else { return [request.reply(code: 2)] }
            return [request.reply { $0.answers.append(Self.answer) }]
        }
        #expect(outcome == .serverFailure(LookupOutcome.ServerFailure(dnssecBogus: true)))
    }

    @Test("a temporary failure is not taken for an invalid signature: the answer counts")
    func failureThatPasses() async throws {
        let failed = Mutex(false)
        let outcome = try await outcome { request in
            let isFirst = failed.withLock { failed in
                defer { failed = true }
                return !failed
            }
            return isFirst ? [request.reply(code: 2)] : [request.reply { $0.answers.append(Self.answer) }]
        }
        #expect(outcome == Self.records)
    }

    @Test("when one name server fails or refuses, the next one is asked", arguments: [2, 4, 5] as [UInt16])
    func nextServer(code: UInt16) async throws {
        func outcome(second: UInt16?) async throws -> LookupOutcome {
            try await DNSTestServer.withServer({ [$0.reply(code: code)] }) { first in
                let answers: @Sendable (DNSTestServer.Request) -> [[UInt8]] = { request in
                    [request.reply(code: second ?? 0) { if second == nil { $0.answers.append(Self.answer) } }]
                }
                return try await DNSTestServer.withServer(answers) { other in
                    let servers = [first.address, other.address]
                    let configuration = ResolverConfiguration(servers: servers, tryTimeout: .seconds(5))
                    return try await CaresResolver.withResolver(configuration) { resolver in
                        await resolver.lookup(Self.question, by: Self.soon())
                    }
                }
            }
        }
        #expect(try await outcome(second: nil) == Self.records)
        let failures: [UInt16: LookupOutcome] = [
            2: .serverFailure(LookupOutcome.ServerFailure()), 4: .badReply(.responseCode(4)), 5: .refused,
        ]
        #expect(try await outcome(second: code) == failures[code])
    }

    @Test("a server that does not understand EDNS is asked without it, each time")
    func withoutEDNS() async throws {
        let outcomes = try await DNSTestServer.withServer({ request in
            request.hasEDNS ? [request.reply(code: 1)] : [request.reply { $0.answers.append(Self.answer) }]
        }) { server in
            let configuration = ResolverConfiguration(servers: [server.address], tryTimeout: .seconds(5))
            return try await CaresResolver.withResolver(configuration) { resolver in
                var outcomes: [LookupOutcome] = []
                for _ in 0..<4 { outcomes.append(await resolver.lookup(Self.question, by: Self.soon())) }
                return outcomes
            }
        }
        #expect(outcomes == [LookupOutcome](repeating: Self.records, count: 4))
    }

    @Test("an answer to another question is not accepted")
    func anotherQuestion() async throws {
        let outcome = try await outcome(tryTimeout: .milliseconds(150)) { request in
            var builder = MessageBuilder(Question(DNSMessageTests.name("evil.test"), .txt))
            builder.id = request.id
            builder.answers.append(Self.answer)
            return [builder.bytes]
        }
        #expect(outcome == .timeout || outcome == .badReply(.anotherQuestion))
    }

    @Test("a forged answer with another id does not displace the true one")
    func forgedID() async throws {
        let outcome = try await outcome { request in
            var forged = MessageBuilder(request.question)
            forged.id = request.id &+ 1
            forged.answers.append(MessageBuilder.record([0xC0, 12], .txt, MessageBuilder.text([[0x58]])))
            return [forged.bytes, request.reply { $0.answers.append(Self.answer) }]
        }
        #expect(outcome == Self.records)
    }

    @Test("replies with loops in their names, or made of garbage, are not accepted as answers")
    func malformed() async throws {
        let loop = try await outcome { request in
            let here = UInt8(12 + request.question.name.wire.count + 5)
            return [request.reply { $0.answers.append(MessageBuilder.record([0xC0, here], .a, [1, 2, 3, 4])) }]
        }
        #expect(loop == .badReply(.malformed(.pointerNotBackwards)))
        let cut = try await outcome { [Array($0.reply { $0.answers.append(Self.answer) }.dropLast(3))] }
        #expect(cut == .badReply(.malformed(.tooShort)))
        let rubbish = try await outcome(tryTimeout: .milliseconds(150)) { _ in [[1, 2, 3]] }
        #expect(rubbish.isTemporary)
    }

    @Test("a lame server's referral to other servers is not an answer")
    func lame() async throws {
        let outcome = try await outcome { request in
            [
                request.reply {
                    $0.flags &= ~0x0080
                    $0.authorities.append(MessageBuilder.record([0], .ns, MessageBuilder.name("a.root.test")))
                }
            ]
        }
        #expect(outcome == .badReply(.referral))
    }

    @Test("aliases that leave the server's zone are followed, and loops among them end")
    func aliases() async throws {
        let outcome = try await outcome { request in
            if request.question.name == Self.name {
                return [
                    request.reply {
                        $0.answers.append(
                            MessageBuilder.record([0xC0, 12], .cname, ttl: 7, MessageBuilder.name("b.test"))
                        )
                    }
                ]
            }
            return [request.reply { $0.answers.append(Self.answer) }]
        }
        let chain = [DNSMessageTests.name("b.test")]
        #expect(
            outcome
                == .records(LookupOutcome.Answer(records: [.text([Array("v=spf1 -all".utf8)])], ttl: 7, chain: chain))
        )
        let loop = try await self.outcome { request in
            let next = request.question.name == Self.name ? "b.test" : "mail.example.test"
            return [
                request.reply {
                    $0.answers.append(MessageBuilder.record([0xC0, 12], .cname, MessageBuilder.name(next)))
                }
            ]
        }
        guard case .badReply(.aliasLoop) = loop else {
            Issue.record("\(loop)")
            return
        }
    }

    @Test("a port on which nobody listens is reported as unreachable")
    func nobody() async throws {
        // The port of a server that has just been closed.
        let free = try await DNSTestServer.withServer({ _ in [] }) { $0.address }
        for _ in 0..<100 {
            let configuration = ResolverConfiguration(servers: [free], tryTimeout: .milliseconds(100))
            let outcome = try await CaresResolver.withResolver(configuration) { resolver in
                await resolver.lookup(Self.question, by: Self.soon())
            }
            // Until the test server's thread has closed its sockets, the question meets silence.
            if outcome == .unreachable { return }
        }
        Issue.record("the port stayed open")
    }

    @Test("no more questions are in flight than allowed, and each gets its answer")
    func cap() async throws {
        // The server holds its answers back until the allowed number of questions wait; it would see one more.
        let held = Mutex<(waiting: [[UInt8]], most: Int)>(([], 0))
        let answered = try await DNSTestServer.withServer({ request in
            held.withLock { held in
                held.waiting.append(request.reply { $0.answers.append(Self.answer) })
                held.most = max(held.most, held.waiting.count)
                guard held.waiting.count == 8 else { return [] }
                defer { held.waiting = [] }
                return held.waiting
            }
        }) { server in
            let configuration = ResolverConfiguration(
                servers: [server.address],
                tryTimeout: .seconds(10),
                maximumInFlight: 8
            )
            return try await CaresResolver.withResolver(configuration) { resolver in
                await withTaskGroup(of: Bool.self) { group in
                    for index in 0..<80 {
                        group.addTask {
                            let name = DNSMessageTests.name("n\(index).test")
                            return await resolver.lookup(Question(name, .txt), by: Self.soon()) == Self.records
                        }
                    }
                    return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
                }
            }
        }
        #expect(answered == 80)
        #expect(held.withLock { $0.most } == 8)
    }

    @Test("closing the resolver ends the lookups that still wait")
    func close() async throws {
        try await DNSTestServer.withServer({ _ in [] }) { server in
            let configuration = ResolverConfiguration(servers: [server.address], tryTimeout: .seconds(30))
            // Repeated many times, so that the resolver is closed at every stage of a question.
            for _ in 0..<300 {
                var resolver: CaresResolver?
                let waiting = try await CaresResolver.withResolver(configuration) { open in
                    resolver = open
                    return Task { await open.lookup(Self.question, by: Self.soon()) }
                }
                let outcome = await waiting.value
                #expect(outcome == .timeout || outcome == .unreachable)
                #expect(await resolver?.lookup(Self.question, by: Self.soon()) == .unreachable)
            }
        }
    }
}

@Suite("Name server addresses")
struct NameServerTests {
    @Test(
        "addresses with and without port",
        arguments: [
            ("127.0.0.1", "127.0.0.1:53"), ("127.0.0.1:5353", "127.0.0.1:5353"), ("::1", "[::1]:53"),
            ("[::1]", "[::1]:53"), ("[2001:db8::1]:5353", "[2001:db8::1]:5353"),
        ]
    )
    func good(text: String, shown: String) {
        #expect(NameServer(text)?.description == shown)
    }

    @Test(
        "texts that are not name server addresses",
        arguments: [
            "", "localhost", "localhost:53", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:", "[::1", "1.2.3:53",
        ]
    )
    func bad(text: String) {
        #expect(NameServer(text) == nil)
    }
}
