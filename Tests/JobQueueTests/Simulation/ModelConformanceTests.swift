import Foundation
import Postgres
import Testing

/// Checks the model of the simulation against the real statements: both take the same random steps, and are compared
/// after each.
@Suite(.timeLimit(.minutes(5))) struct ModelConformanceTests {
    /// A fixed seed and a random one, which a failure shows as its argument.
    static let seeds: [UInt64] =
        ProcessInfo.processInfo.environment["ACCOUNTCTL_SIMULATION_SEED"].flatMap { UInt64($0) }.map { [$0] }
        ?? [11, .random(in: 1_000_000...1_000_000_000_000)]

    @Test(arguments: seeds) func theModelDoesWhatTheStatementsDo(_ seed: UInt64) async throws {
        try await JobHarness.with { harness in
            try await harness.pool.withConnection { connection in
                var run = ModelRun(queue: harness.queue, seed: seed)
                for step in 0..<600 {
                    try run.take(step, on: connection)
                    try run.compare(at: step, on: connection)
                }
            }
        }
    }
}
