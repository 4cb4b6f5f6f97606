import Postgres

/// The names of the tables, qualified by the schema they lie in.
struct JobTables: Sendable {
    let schemaName: String
    let schema: Statement
    let jobs: Statement
    let history: Statement
    let queues: Statement
    let limits: Statement
    let workers: Statement
    let slots: Statement
    /// The next lease number.
    let nextLease: Statement
    /// The channel on which a queue name says that work may have come, and ``beatNote`` that a heartbeat would learn something.
    let channel: String

    /// Sent over ``channel`` in place of a queue; no queue can be called so.
    static let beatNote = "!beat"

    init(schema name: String) {
        func table(_ table: String) -> Statement { "\(identifier: name).\(identifier: table)" }
        schemaName = name
        schema = "\(identifier: name)"
        jobs = table("jobs")
        history = table("job_history")
        queues = table("queues")
        limits = table("job_limits")
        workers = table("workers")
        slots = table("periodic_slots")
        let sequence = "\(quoteIdentifier(name)).job_leases"
        nextLease = "nextval(\(unsafeSQL: quoteLiteral(sequence))::regclass)"
        channel = name + "_jobs"
    }
}
