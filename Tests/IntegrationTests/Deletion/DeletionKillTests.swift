import Foundation
import TestSupport
import Testing

@Suite("Workers killed during erasures", .timeLimit(.minutes(5)))
struct DeletionKillTests {
    @Test("Whatever SIGKILL interrupts, every account is erased once, and no other account is touched")
    func kills() async throws {
        try await ErasureSite.with(accounts: 30) { site in
            // The kills come at random times, spread over much more than the time of a step; a failure prints the seed.
            let seed = UInt64.random(in: 0 ... .max)
            var times = SeededRandom(seed: seed)
            for _ in 0..<6 {
                let moment = Duration.milliseconds(Int(times.next() % 700))
                try await site.withWorker { worker in
                    try await Task.sleep(for: moment)
                    worker.signal(SIGKILL)
                    _ = try await worker.result()
                }
            }
            var open = try await site.open()
            for _ in 0..<40 where open > 0 {
                let worker = try await AccountctlProcess.run("worker", "--until-idle", environment: site.variables)
                #expect(worker.status == 0, "\(worker.errors)")
                open = try await site.open()
                if open > 0 { try await site.waitForTheNextTry() }
            }
            #expect(open == 0, "seed \(seed)")
            try await site.expectAllErased("seed \(seed)")
        }
    }
}
