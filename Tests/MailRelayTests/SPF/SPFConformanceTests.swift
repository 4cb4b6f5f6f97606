import MailRelay
import SPFSuite
import Testing

@Suite(
    "The published SPF suite",
    .enabled(if: SPFSuite.isExpected, "it is not in this repository: ACCOUNTCTL_SPF_SUITE names its file")
)
struct SPFConformanceTests {
    @Test("all cases give a result that the suite accepts, and its explanation")
    func wholeSuite() async throws {
        let suite = try SPFSuite.load()
        var count = 0
        for scenario in suite.scenarios {
            let evaluator = SPFEvaluator(scenario.resolver, tracing: true)
            for test in scenario.cases {
                count += 1
                let query = try #require(test.query)
                let evaluation = await evaluator.evaluate(query, by: .now.advanced(by: .seconds(20)))
                let trace = evaluation.trace.map { "\($0.domain) \($0.term): \($0.outcome)" }
                #expect(
                    test.accepted.contains(evaluation.result),
                    "\(scenario.name)/\(test.id): \(evaluation.result), wanted \(test.accepted); \(trace)"
                )
                if let explanation = test.explanation {
                    #expect(evaluation.explanation ?? "DEFAULT" == explanation, "\(scenario.name)/\(test.id)")
                }
                #expect(evaluation.terms <= 11 && evaluation.voids <= 3, "\(test.id)")
            }
        }
        #expect(count == 203)
    }

    @Test("answers that must be waited for give the same results as answers at hand, and no question is asked twice")
    func distantAnswers() async throws {
        for scenario in try SPFSuite.load().scenarios {
            let zone = scenario.resolver
            let near = SPFEvaluator(zone, tracing: true)
            for test in scenario.cases {
                let query = try #require(test.query)
                let deadline = ContinuousClock.now.advanced(by: .seconds(20))
                let distant = DistantResolver(zone)
                let evaluation = await SPFEvaluator(distant, tracing: true).evaluate(query, by: deadline)
                #expect(evaluation == (await near.evaluate(query, by: deadline)), "\(scenario.name)/\(test.id)")
                #expect(distant.asked.count == Set(distant.asked).count, "\(scenario.name)/\(test.id)")
            }
        }
    }
}
