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

    /// A context without a terminal, whose output goes nowhere.
    private func context(_ database: TestDatabase) -> CommandContext {
        var global = GlobalOptions()
        global.setDefaults()
        global.databaseURL = database.conninfo
        let style = StreamStyle.plain
        return CommandContext(
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
    }

    @Test("Looks are at least a quarter of a second apart, however often the queues notify")
    func pace() async throws {
        try await TestDatabase.with(.migrated) { database in
            let looks = Looks()
            let status = try await context(database).follow { Counting(looks: looks) }
            #expect(status == .ok)
            #expect(looks.gaps.count == 5)
            #expect(looks.gaps.allSatisfy { $0 >= .milliseconds(250) }, "\(looks.gaps)")
        }
    }

    /// A watch whose first look shows something and then loses the connection; it ends with the second.
    private struct Losing: Watch {
        let looks: Looks
        var shown = 0

        mutating func look(on connection: isolated Connection) throws -> accountctl.ExitStatus? {
            shown += 1
            if looks.add() == 1 {
                try connection.execute("select pg_terminate_backend(pg_backend_pid()), pg_sleep(60)")
            }
            return shown == 2 ? .ok : .failure
        }

        func flush() {}
    }

    @Test("What a look has shown before its connection was lost is not shown again")
    func loss() async throws {
        try await TestDatabase.with(.migrated) { database in
            let looks = Looks()
            let status = try await context(database).follow { Losing(looks: looks) }
            #expect(status == .ok)
            #expect(looks.gaps.count == 1)
        }
    }
}
