import Foundation
import Testing

/// Thousands of interleavings of claim, heartbeat, rescue, cancel, wake-up, deadline, completion, lost replies, an
/// operator's discard and retry, handlers that do not stop, frozen and killed processes, and failovers that lose what was
/// written last, on injected time.
///
/// The workers' book is the real one, the table a model.
@Suite struct SimulationTests {
    @Test func invariantsHoldInEveryInterleaving() {
        let given = ProcessInfo.processInfo.environment["ACCOUNTCTL_SIMULATION_SEED"].flatMap { UInt64($0) }
        // Some are the same each time, most are met for the first time.
        let fresh = UInt64.random(in: 1_000_000...1_000_000_000_000)
        let seeds = given.map { [$0] } ?? Array(1..<501) + Array(fresh..<(fresh + 2500))
        var events = 0
        for seed in seeds {
            var simulation = Simulation(seed: seed)
            if let violation = simulation.run(steps: 250) {
                Issue.record("\(violation); repeat with ACCOUNTCTL_SIMULATION_SEED=\(seed)")
                return
            }
            events += simulation.events
        }
        print("simulation: \(seeds.count) seeds, the last ones from \(fresh) on, \(events) events")
        #expect(events > 1000)
    }
}
