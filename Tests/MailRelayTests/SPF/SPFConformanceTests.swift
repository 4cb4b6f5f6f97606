import MailRelay
import Testing

@Suite("The published SPF suite")
struct SPFConformanceTests {
    @Test("all cases give a result that the suite accepts, and its explanation")
    func wholeSuite() async throws {
        let suite = try SPFSuite.load()
        var count = 0
        for scenario in suite.scenarios {
            let evaluator = SPFEvaluator(scenario.resolver(), tracing: true)
            for test in scenario.tests {
                count += 1
                let address = try #require(IPAddress(test.host))
                let query = SPFQuery(address: address, mailFrom: test.mailfrom, helo: test.helo)
                let evaluation = await evaluator.evaluate(query, by: .now.advanced(by: .seconds(20)))
                let trace = evaluation.trace.map { "\($0.domain) \($0.term): \($0.outcome)" }
                #expect(
                    test.result.contains(evaluation.result.rawValue),
                    "\(scenario.scenario)/\(test.id): \(evaluation.result), wanted \(test.result); \(trace)"
                )
                if let explanation = test.explanation {
                    #expect(evaluation.explanation ?? "DEFAULT" == explanation, "\(scenario.scenario)/\(test.id)")
                }
                #expect(evaluation.terms <= 11 && evaluation.voids <= 3, "\(test.id)")
            }
        }
        #expect(count == 203)
    }
}
