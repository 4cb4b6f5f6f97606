import MailRelay
import Testing

/// SPF evaluations that have to wait for DNS answers.
@Suite("SPF, waiting for answers", .timeLimit(.minutes(5)))
struct SPFWaitingTests {
    private let domain: DomainName
    private let query: SPFQuery

    init() throws {
        domain = try DomainName(dotted: "d.test")
        let address = try #require(IPv4Address("192.0.2.7").map { IPAddress.v4($0) })
        query = SPFQuery(address: address, domain: domain, helo: domain)
    }

    /// Returns a zone whose policy is as long as a record can be and needs as many lookups as the limits allow.
    private func longest() throws -> ZoneResolver {
        let length = 65_000
        var policy = "v=spf1" + (0..<10).map { " mx:\($0).test" }.joined()
        while policy.utf8.count < length { policy += " ip4:10.0.0.1" }
        var zone = try TestZone(
            (0..<10).flatMap { list in
                (0..<10).flatMap { host in
                    ["\(list).test MX 10 \(host).\(list).test", "\(host).\(list).test A 192.0.2.9"]
                }
            }
            .joined(separator: "\n")
        )
        let strings = stride(from: 0, to: policy.utf8.count, by: 255).map {
            Array(policy.utf8.dropFirst($0).prefix(255))
        }
        zone.outcomes[Question(domain, .txt)] = .records(LookupOutcome.Answer(records: [.text(strings)], ttl: 300))
        return zone.resolver
    }

    @Test("a long policy is read once for all the answers that are waited for, and its steps are recorded once")
    func longPolicy() async throws {
        let zone = try longest()
        let policy = Question(domain, .txt)
        let distant = DistantResolver(zone, near: [policy])
        let deadline = ContinuousClock.now.advanced(by: .seconds(60))
        let evaluation = await SPFEvaluator(distant, tracing: true).evaluate(query, by: deadline)
        #expect(evaluation.result == .neutral && evaluation.terms == 10)
        #expect(distant.asked.count == 110)
        // The policy is read before the first answer and again with that answer; from then on it is remembered.
        #expect(distant.taken.count { $0 == policy } == 2)
        #expect(evaluation == (await SPFEvaluator(zone, tracing: true).evaluate(query, by: deadline)))
    }

    @Test("past the deadline at most one more question is asked, and answers at hand still count")
    func deadline() async throws {
        let zone = try TestZone(
            """
            d.test TXT "v=spf1 ptr ptr:a.test ip4:192.0.2.7 -all"
            7.2.0.192.in-addr.arpa PTR mail.d.test
            """
        ).resolver
        let policy = Question(domain, .txt)
        let past = ContinuousClock.now.advanced(by: .seconds(-1))

        let distant = DistantResolver(zone)
        let late = await SPFEvaluator(distant).evaluate(query, by: past)
        #expect(distant.asked == [policy])
        #expect(late.result == .pass, "silence of reverse DNS is no name: \(String(describing: late.problem))")

        let missing = Question(try DomainName(dotted: "x.test"), .a)
        let lists = try TestZone("d.test TXT \"v=spf1 a:x.test -all\"\nx.test A 192.0.2.7").resolver
        let unfinished = await SPFEvaluator(DistantResolver(lists)).evaluate(query, by: past)
        #expect(unfinished.result == .temperror)
        #expect(unfinished.problem == .lookup(missing, .timeout))
        #expect(await SPFEvaluator(lists).evaluate(query, by: past).result == .pass)
    }
}
