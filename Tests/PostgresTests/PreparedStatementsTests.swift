import Testing

@testable import Postgres

@Suite struct PreparedStatementsTests {
    private func key(_ text: String, _ types: [UInt32] = []) -> PreparedStatements.Key {
        PreparedStatements.Key(text: text, types: types)
    }

    @Test func preparesAtTheThirdUse() {
        var statements = PreparedStatements(capacity: 10)
        let step1 = statements.plan(for: key("a"))
        #expect(step1 == .runUnprepared)
        let step2 = statements.plan(for: key("a"))
        #expect(step2 == .runUnprepared)
        let step3 = statements.plan(for: key("a", [20]))
        #expect(step3 == .runUnprepared)
        guard case .prepare(let name) = statements.plan(for: key("a")) else {
            Issue.record("not prepared")
            return
        }
        statements.prepared(key("a"), name: name)
        let step4 = statements.plan(for: key("a"))
        #expect(step4 == .use(name: name))
    }

    @Test func aFailedPreparationIsTriedAgain() {
        var statements = PreparedStatements(capacity: 10)
        for _ in 0..<2 { _ = statements.plan(for: key("a")) }
        guard case .prepare = statements.plan(for: key("a")), case .prepare = statements.plan(for: key("a")) else {
            Issue.record("not prepared")
            return
        }
    }

    @Test func dropsTheOneNotUsedForLongest() {
        var statements = PreparedStatements(capacity: 2)
        var names: [String] = []
        for text in ["a", "b"] {
            for _ in 0..<3 {
                if case .prepare(let name) = statements.plan(for: key(text)) {
                    statements.prepared(key(text), name: name)
                    names.append(name)
                }
            }
        }
        _ = statements.plan(for: key("a"))
        let step5 = statements.plan(for: key("c"))
        #expect(step5 == .runUnprepared)
        let step6 = statements.takeDropped()
        #expect(step6 == [names[1]])
        let step7 = statements.plan(for: key("a"))
        #expect(step7 == .use(name: names[0]))
        let step8 = statements.plan(for: key("b"))
        #expect(step8 == .runUnprepared)
    }
}
