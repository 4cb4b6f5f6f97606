import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

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
    /// The newest lease number that was given out.
    let lastLease: Statement
    /// What a row that leaves `running` is set to besides its state: nobody holds it, and whoever did may write no
    /// more.
    let unleased: Statement
    /// What a row is set to that goes back as if it had never been claimed.
    let handedBack: Statement
    /// The channel on which a queue name says that work may have come, and ``beatNote`` that a heartbeat would learn
    /// something.
    let channel: String

    /// Sent over ``channel`` in place of a queue; no queue can be called so.
    static let beatNote = "!beat"

    /// What the claim index leads with for a queue and a kind, one number in place of two texts, which are slower to
    /// compare.
    ///
    /// Two lanes may share a number: ask for queue and kind besides.
    static func lane(_ queue: Statement, _ kind: Statement) -> Statement {
        "hashtextextended(\(kind), hashtextextended(\(queue), 0))"
    }

    /// That the jobs `j` are those of a lane, as the claim index finds them.
    static func isLane(_ queue: Statement = "lane.queue", _ kind: Statement = "lane.kind") -> Statement {
        """
        \(lane("j.queue", "j.kind")) = \(lane(queue, kind))
        and j.queue = \(queue)
        and j.kind = \(kind)
        """
    }

    /// That the jobs `j` are running ones of a kind, from a lease on, as their index finds them.
    ///
    /// Two kinds may share a number.
    static func isRunning(_ kind: Statement, from lease: Statement) -> Statement {
        """
        j.worker is not null
        and hashtextextended(j.kind, 0) = hashtextextended(\(kind), 0)
        and j.kind = \(kind)
        and j.lease >= \(lease)
        """
    }

    /// That a row is one of these jobs under the lease of this job.
    ///
    /// Three arrays by themselves would do if no number came twice: see ``JobLease``. The ids ascend, and the place of
    /// one is found by halving; of a job that is there twice the newest lease counts. That has the highest number in one
    /// life of the database alone: callers ask for the jobs of one registration at a time.
    ///
    /// `worker` says who holds a row, or held it.
    static func isUnderItsLease(_ jobs: [JobLease], of worker: Statement = JobTables.runner) -> Statement {
        let held = jobs.sorted(by: areInOrder)
        let ids = held.map(\.id)
        let place = place(among: ids)
        return """
            id = any(\(ids)::bigint[])
            and lease = (\(held.map(\.lease))::bigint[])\(place)
            and \(worker) = (\(held.map(\.worker))::bigint[])\(place)
            """
    }

    /// Who runs a job, a row of the hot table; null of one that does not run.
    ///
    /// From this form the planner does not conclude that the row lies in the indexes of what runs. It would read one of
    /// them from end to end where it takes the table for empty, and keep that plan; and they hold all that runs, and
    /// behind an old snapshot all that ever ran.
    static let runner: Statement = "case when state = 'running' then worker end"

    /// Whether two jobs are in the order in which ``place(among:)`` finds them.
    static func areInOrder(_ one: JobLease, _ other: JobLease) -> Bool { (one.id, one.lease) < (other.id, other.lease) }

    /// The subscript of what an array says of a row, whose elements are in the order of `ids`.
    static func place(among ids: [Int64]) -> Statement { "[width_bucket(id, \(ids)::bigint[])]" }

    /// That a row is one of these jobs, held under its lease by a worker of this life of the database.
    ///
    /// After a failover that lost the end of the log, or a restore, what the worker wrote before may be gone.
    func isHeld(_ jobs: [JobLease]) -> Statement {
        """
        \(Self.isUnderItsLease(jobs))
        and \(isHeld(by: Set(jobs.map(\.worker)).sorted()))
        """
    }

    /// That a row is this job, held under its lease by a worker of this life of the database.
    func isHeld(_ job: JobLease) -> Statement {
        """
        id = \(job.id)
        and lease = \(job.lease)
        and \(isHeld(by: [job.worker]))
        """
    }

    private func isHeld(by workers: [Int64]) -> Statement {
        """
        \(Self.runner) = any(array(
            select id
            from \(self.workers)
            where id = any(\(workers)::bigint[])
            and \(isOfThisLife)
        ))
        """
    }

    /// That a worker is registered in this life of the database; asked once a statement.
    func isRegistered(_ worker: Int64) -> Statement {
        """
        exists (
            select
            from \(workers)
            where \(isRegistration(of: worker))
        )
        """
    }

    /// That a row of the workers is that of one who is registered in this life of the database.
    func isRegistration(of worker: Int64) -> Statement {
        """
        id = \(worker)
        and stopped_at is null
        and \(isOfThisLife)
        """
    }

    /// That a worker registered in this life of the database.
    private var isOfThisLife: Statement { "life = \(schema).database_life()" }

    /// Adds one job: kind, queue, arguments, their version, priority, when to run it (twice), unique key, limit key,
    /// attempts.
    let insertOne: Statement

    /// Adds one job of which no more is said than kind, queue, arguments, their version and priority.
    ///
    /// Most are such. Neither functions nor empty columns: each costs the server a search of its catalog for each job.
    let insertPlain: Statement

    /// Adds a job as ``insertPlain`` does, and gives its id.
    let insertPlainForID: Statement

    /// Adds a job as ``insertPlain`` does, has a worker told with the commit, and gives a second column of no meaning.
    let insertPlainAndNotify: Statement

    /// The tables that the migrations make, spelled out once.
    static let standard = JobTables(in: "accountctl")

    private init(in name: String) {
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
        lastLease =
            "(select case when is_called then last_value else 0 end from \(unsafeSQL: sequence))"
        unleased = """
            worker = null,
            lease = \(nextLease),
            deadline_at = null
            """
        handedBack = """
            state = 'available',
            \(unleased),
            attempt = greatest(0, attempt - 1)
            """
        channel = name + "_jobs"
        insertOne = """
            \(Self.insertion(into: jobs))
            values (
                \("")::text, \("")::text, \("")::jsonb, \(Int16(1)), \(Int16(5)), coalesce(\(Date?.none), now()),
                \(Self.state(runAt: "\(Date?.none)", schema)), \(String?.none)::text, \(String?.none)::text, \(Int16?.none)
            )
            """
        insertPlain = """
            insert into \(jobs) as j (kind, queue, args, args_version, priority, run_at)
            values (\("")::text, \("")::text, \("")::jsonb, \(Int16(1)), \(Int16(5)), current_timestamp)
            """
        insertPlainForID = "\(insertPlain) returning id"
        // pg_notify gives nothing, which no driver could read.
        insertPlainAndNotify = """
            \(insertPlain)
            returning id, pg_notify(\(unsafeSQL: quoteLiteral(channel)), queue) is null
            """
    }

    /// The beginning of a statement that adds jobs; the values follow.
    static func insertion(into jobs: Statement) -> Statement {
        """
        insert into \(jobs) as j
            (kind, queue, args, args_version, priority, run_at, state, unique_key, limit_key, max_attempts)
        """
    }

    /// The state of a new job.
    ///
    /// Of literals that have the type: a cast of the whole would look the state up by its name for each row.
    static func state(runAt: Statement, _ schema: Statement) -> Statement {
        """
        case
            when \(runAt) > now() then 'scheduled'::\(schema).job_state
            else 'available'::\(schema).job_state
        end
        """
    }
}
