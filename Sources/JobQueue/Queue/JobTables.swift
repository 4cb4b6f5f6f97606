import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The names of the tables, qualified by their schema, and the conditions and statements built on them.
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
    /// The assignments for a row that leaves `running`, besides its state: nobody holds it, and its previous holder may
    /// no longer write.
    let unleased: Statement
    /// The assignments for a row that goes back as if it had never been claimed.
    let handedBack: Statement
    /// The notification channel: a queue's name says that it may have work, ``beatNote`` that a heartbeat would learn
    /// something.
    let channel: String

    /// Sent over ``channel`` in place of a queue name; no queue can have this name.
    static let beatNote = "!beat"

    /// The leading expression of the claim index for a queue and a kind: one number instead of two texts, which are
    /// slower to compare.
    ///
    /// Two lanes may share a number: also compare queue and kind.
    static func lane(_ queue: Statement, _ kind: Statement) -> Statement {
        "hashtextextended(\(kind), hashtextextended(\(queue), 0))"
    }

    /// The condition that the jobs `j` are those of a lane, in the form of the claim index.
    static func isLane(_ queue: Statement = "lane.queue", _ kind: Statement = "lane.kind") -> Statement {
        """
        \(lane("j.queue", "j.kind")) = \(lane(queue, kind))
        and j.queue = \(queue)
        and j.kind = \(kind)
        """
    }

    /// The condition that the jobs `j` are running ones of a kind, from a lease on, in the form of their index.
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

    /// The condition that a row is one of these jobs under that job's lease.
    ///
    /// Three independent arrays would do if no number appeared twice: see ``JobLease``. The ids ascend, and the
    /// position of one is found by binary search; if a job appears twice, the newest lease counts. The newest has the
    /// highest number only within one life of the database: callers pass the jobs of one registration at a time.
    ///
    /// `worker` is the expression for the worker that holds a row, or held it.
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

    /// The worker that runs a job, a row of the hot table; null if the job is not running.
    ///
    /// From this form the planner cannot conclude that the row is in the indexes of running jobs. Otherwise it would
    /// read one of them from end to end if it believed the table empty, and cache that plan; those indexes hold
    /// everything that runs, and behind an old snapshot everything that ever ran.
    static let runner: Statement = "case when state = 'running' then worker end"

    /// Whether two jobs are in the order that ``place(among:)`` requires.
    static func areInOrder(_ one: JobLease, _ other: JobLease) -> Bool { (one.id, one.lease) < (other.id, other.lease) }

    /// The subscript of a row's element in an array whose elements are in the order of `ids`.
    static func place(among ids: [Int64]) -> Statement { "[width_bucket(id, \(ids)::bigint[])]" }

    /// The condition that a row is one of these jobs, held under its lease by a worker of this life of the database.
    ///
    /// After a failover that lost the end of the WAL, or a restore, earlier writes of the worker may be gone.
    func isHeld(_ jobs: [JobLease]) -> Statement {
        """
        \(Self.isUnderItsLease(jobs))
        and \(isHeld(by: Set(jobs.map(\.worker)).sorted()))
        """
    }

    /// The condition that a row is this job, held under its lease by a worker of this life of the database.
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

    /// The condition that a worker is registered in this life of the database; evaluated once per statement.
    func isRegistered(_ worker: Int64) -> Statement {
        """
        exists (
            select
            from \(workers)
            where \(isRegistration(of: worker))
        )
        """
    }

    /// The condition that a row of `workers` is that worker, still registered in this life of the database.
    func isRegistration(of worker: Int64) -> Statement {
        """
        id = \(worker)
        and stopped_at is null
        and \(isOfThisLife)
        """
    }

    /// The condition that a worker registered in this life of the database.
    private var isOfThisLife: Statement { "life = \(schema).database_life()" }

    /// Adds one job: kind, queue, arguments, their version, priority, when to run it (twice), unique key, limit key,
    /// attempts.
    let insertOne: Statement

    /// Adds one job that has only a kind, queue, arguments, their version and a priority.
    ///
    /// Most jobs are of this form. The statement has no functions and no empty columns: each would cost the server a
    /// catalog lookup per job.
    let insertPlain: Statement

    /// Adds a job as ``insertPlain`` does, and returns its id.
    let insertPlainForID: Statement

    /// Adds a job as ``insertPlain`` does, notifies workers with the commit, and returns the id and a meaningless
    /// second column.
    let insertPlainAndNotify: Statement

    /// The tables that the migrations create, built once.
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
        // pg_notify returns void, which no driver can read.
        insertPlainAndNotify = """
            \(insertPlain)
            returning id, pg_notify(\(unsafeSQL: quoteLiteral(channel)), queue) is null
            """
    }

    /// The start of a statement that adds jobs; the values follow.
    static func insertion(into jobs: Statement) -> Statement {
        """
        insert into \(jobs) as j
            (kind, queue, args, args_version, priority, run_at, state, unique_key, limit_key, max_attempts)
        """
    }

    /// The state of a new job.
    ///
    /// Uses literals of the type: casting the whole expression would look the state up by name for each row.
    static func state(runAt: Statement, _ schema: Statement) -> Statement {
        """
        case
            when \(runAt) > now() then 'scheduled'::\(schema).job_state
            else 'available'::\(schema).job_state
        end
        """
    }
}
