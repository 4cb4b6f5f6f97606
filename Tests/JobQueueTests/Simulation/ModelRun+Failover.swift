import Postgres
import Testing

@testable import JobQueue

/// A failover to a standby that lacks the end of the log: tables and sequences go back to an earlier state, and the
/// workers go on.
extension ModelRun {
    private static let tables = ["jobs", "job_history", "workers"]
    private static let sequences = ["job_leases", "jobs_id_seq"]

    /// Lets the standby catch up with all that is written.
    mutating func replicate(on connection: isolated Connection) throws {
        for table in Self.tables {
            try connection.execute("drop table if exists \(identifier: "standby_" + table)")
            try connection.execute(
                "create temporary table \(identifier: "standby_" + table) as table accountctl.\(identifier: table)"
            )
        }
        numbers = [:]
        for sequence in Self.sequences {
            numbers[sequence] = try connection.one(
                "select case when is_called then last_value else 0 end from accountctl.\(identifier: sequence)",
                as: Int64.self
            )
        }
        standby = model
    }

    /// Lets the standby take over.
    mutating func failOver(on connection: isolated Connection) throws {
        guard let standby else { return }
        for table in Self.tables {
            try connection.execute("delete from accountctl.\(identifier: table)")
            try connection.execute(
                "insert into accountctl.\(identifier: table) select * from \(identifier: "standby_" + table)"
            )
        }
        for (sequence, last) in numbers {
            // A sequence without a value yet is reset to its first one.
            _ = try connection.one(
                "select setval(\("accountctl." + sequence)::text::regclass, \(max(last, 1)), \(last > 0))",
                as: Int64.self
            )
        }
        try connection.execute("update accountctl.workers set life = 'an earlier one'")
        model.goBack(to: standby)
        formerWorkers += workers
        workers = []
    }
}
