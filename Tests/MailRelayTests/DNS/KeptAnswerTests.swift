import MailRelay
import Testing

/// Lookup outcomes that are available without waiting.
@Suite("Answers at hand")
struct KeptAnswerTests {
    private func zone() throws -> (Question, ZoneResolver) {
        let question = Question(try DomainName(dotted: "d.test"), .a)
        let answer = LookupOutcome.Answer(records: [.a(IPv4Address(rawValue: 1))], ttl: 300)
        return (question, ZoneResolver([question: .records(answer)]))
    }

    @Test("a cache has the outcome of every earlier question at hand, failures included")
    func cache() async throws {
        let (question, zone) = try zone()
        let missing = Question(try DomainName(dotted: "x.test"), .a)
        let cache = CachingResolver(zone)
        #expect(cache.outcomeAtHand(question) == nil)
        for question in [question, missing] {
            let outcome = await cache.lookup(question, by: .now.advanced(by: .seconds(20)))
            #expect(cache.outcomeAtHand(question) == outcome)
        }
    }

    @Test("a recorder records an outcome at hand like the outcome of a query")
    func recorder() throws {
        let (question, zone) = try zone()
        let recorder = RecordingResolver(zone)
        let outcome = recorder.outcomeAtHand(question)
        #expect(recorder.answers.map(\.question) == [question])
        #expect(recorder.answers.map(\.outcome) == [outcome])
        #expect(outcome?.isAbsence == false)
    }

    @Test("aliases inside a table are followed, and the whole chain is reported")
    func aliases() throws {
        let names = try ["a.test", "b.test", "c.test", "gone.test"].map { try DomainName(dotted: $0) }
        func alias(to name: DomainName, ttl: UInt32) -> LookupOutcome {
            .records(LookupOutcome.Answer(records: [.cname(name)], ttl: ttl))
        }
        let end = LookupOutcome.Answer(records: [.a(IPv4Address(rawValue: 1))], ttl: 300)
        let zone = ZoneResolver([
            Question(names[0], .cname): alias(to: names[1], ttl: 60),
            Question(names[1], .cname): alias(to: names[2], ttl: 600),
            Question(names[2], .a): .records(end),
        ])
        #expect(
            zone.outcomeAtHand(Question(names[0], .a))
                == .records(LookupOutcome.Answer(records: end.records, ttl: 60, chain: [names[1], names[2]]))
        )
        #expect(
            zone.outcomeAtHand(Question(names[0], .mx)) == .noData(LookupOutcome.Absence(chain: [names[1], names[2]]))
        )
        #expect(zone.outcomeAtHand(Question(names[3], .a)) == .nxDomain(LookupOutcome.Absence()))
        let circle = ZoneResolver([
            Question(names[0], .cname): alias(to: names[1], ttl: 60),
            Question(names[1], .cname): alias(to: names[0], ttl: 60),
        ])
        #expect(
            circle.outcomeAtHand(Question(names[0], .a)) == .badReply(.aliasLoop([names[0], names[1], names[0]]))
        )
    }
}
