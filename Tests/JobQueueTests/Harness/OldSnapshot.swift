import Postgres
import TestSupport

@testable import JobQueue

/// Makes and measures dead rows that no vacuum may remove.
extension JobHarness {
    /// Runs `body` with a connection while another session holds an older snapshot.
    func behindAnOldSnapshot(_ body: @Sendable (isolated Connection) async throws -> Void) async throws {
        try await database.withConnection { pinning in
            try await pinning.transaction(isolation: .repeatableRead) { pinning in
                _ = try pinning.one("select count(*) from accountctl.jobs", as: Int.self)
                try await pool.withConnection(body)
            }
        }
    }

    /// Returns how many entries, dead ones included, `body` reads of one index of the jobs, or of all; then rolls it
    /// back.
    func entries(
        of index: String? = nil,
        on connection: isolated Connection,
        _ body: @Sendable (isolated Connection) throws -> Void
    ) async throws -> Int {
        struct Undo: Error {}
        let read: Statement = """
            select sum(pg_stat_get_xact_tuples_returned(indexrelid))::bigint
            from pg_index
            where indrelid = 'accountctl.jobs'::regclass
            and indexrelid = coalesce(to_regclass('accountctl.' || \(index)::text)::oid, indexrelid)
            """
        var entries = 0
        do {
            try await connection.transaction { connection in
                // The counters may still include earlier transactions.
                let before = try connection.one(read, as: Int.self)
                try body(connection)
                entries = try connection.one(read, as: Int.self) - before
                throw Undo()
            }
        } catch is Undo {}
        return entries
    }
}
