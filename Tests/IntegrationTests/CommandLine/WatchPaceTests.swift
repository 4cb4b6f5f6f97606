import Foundation
import Postgres
import Synchronization
import Terminal
import TestSupport
import Testing

@testable import accountctl

@Suite("The pace of a watch", .timeLimit(.minutes(5)))
struct WatchPaceTests {
    /// A watch that requests its next look in each look, and ends with the sixth.
    private struct Counting: Watch {
        let looks: Looks

        mutating func look(on connection: isolated Connection) throws -> accountctl.ExitStatus? {
            try connection.execute("notify accountctl_jobs, 'mail'")
            return looks.add() < 6 ? nil : .ok
        }

        func flush() {}
    }

    private final class Looks: Sendable {
        private let moments = Mutex<[ContinuousClock.Instant]>([])

        func add() -> Int {
            moments.withLock { moments in
                moments.append(.now)
                return moments.count
            }
        }

        var gaps: [Duration] { moments.withLock { zip($0.dropFirst(), $0).map { $0 - $1 } } }
    }

    private struct Nowhere: ByteSink {
        func write(_ text: String) {}
    }

    @Test("Looks are at least a quarter of a second apart, however often the queues notify")
    func pace() async throws {
        try await TestDatabase.with(.migrated) { database in
            var global = GlobalOptions()
            global.setDefaults()
            global.databaseURL = database.conninfo
            let style = StreamStyle.plain
            let context = CommandContext(
                global: global,
                environment: [:],
                output: Output(
                    format: .table,
                    style: style,
                    sink: Nowhere(),
                    messages: Messages(style: style, sink: Nowhere())
                ),
                isInteractive: false,
                now: { .now }
            )
            let looks = Looks()
            let status = try await context.follow { Counting(looks: looks) }
            #expect(status == .ok)
            #expect(looks.gaps.count == 5)
            #expect(looks.gaps.allSatisfy { $0 >= .milliseconds(250) }, "\(looks.gaps)")
        }
    }
}
