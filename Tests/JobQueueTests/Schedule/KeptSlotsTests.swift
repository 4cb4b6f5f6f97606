import Postgres
import Testing

@testable import JobQueue

/// The last instant of each schedule is kept: without it the next would count as the first, and would only be recorded.
@Suite(.timeLimit(.minutes(5))) struct KeptSlotsTests {
    @Test func theLatestOfEachScheduleStaysHoweverOldItIs() async throws {
        try await JobHarness.with { harness in
            try await harness.execute(
                """
                insert into accountctl.periodic_slots (name, slot)
                select name, now() + days * interval '1 day'
                from (values
                    ('monthly', -60), ('monthly', -30), ('weekly', -8), ('weekly', -6), ('weekly', -1),
                    -- As written while a clock was wrong.
                    ('set back', -9), ('set back', -8), ('set back', 1)
                ) as s (name, days)
                """
            )
            let left = try await harness.pool.withConnection { connection in
                try await harness.queue.keepHistory(retention: .seconds(86_400), on: connection)
                return try connection.query(
                    """
                    select name || ' ' || round(extract(epoch from slot - now()) / 86400)
                    from accountctl.periodic_slots
                    order by name, slot
                    """,
                    as: String.self
                )
            }
            #expect(left == ["monthly -30", "set back -8", "set back 1", "weekly -6", "weekly -1"])
        }
    }
}
