import AccountLifecycle
import JobQueue
import Postgres
import Terminal

extension DatabaseDoctor {
    func jobs(on connection: isolated Connection) throws -> [DoctorFinding] {
        let (alive, lastBeat) = try JobQueue().presence(on: connection)
        let paused = try JobQueue().queueSettings(on: connection).compactMap(Self.pausedQueue)
        let figures = try JobQueue().figures(on: connection)
        // Where nobody is there at all, that is what is said.
        let served = alive > 0 ? try JobQueue().servedQueues(on: connection) : nil
        let late = figures.oldestReady.sorted { $0.key < $1.key }
            .compactMap { Self.lateQueue($0.key, oldest: $0.value, served) }
        let owner = try JobQueue().ownerWhoVacuums(on: connection)
        let whole = [
            Self.exhausted(figures), Self.strayRows(figures), Self.deadRows(figures),
            owner.map { Self.foreignTable(of: SafeText.line($0)) },
        ]
        return [Self.workers(alive, lastBeat: lastBeat, patience)] + paused + late + whole.compactMap(\.self)
    }

    /// Whether anybody works.
    private static func workers(_ alive: Int, lastBeat: Duration?, _ patience: Duration) -> DoctorFinding {
        if alive > 0 { return .ok("workers.alive", Wording.count(alive, "worker") + " alive") }
        let last =
            lastBeat.map { "the last one was seen \(Wording.length(.seconds($0.components.seconds))) ago" }
            ?? "none was ever seen"
        return DoctorFinding(
            // A code dies within five minutes: longer than a restart takes is too long.
            lastBeat.map { $0 <= patience } == true ? .warning : .error,
            "workers.alive",
            "no worker is alive; \(last)",
            why: "Requests wait, and Apple's codes expire after five minutes.",
            todo: "Start one: accountctl worker. Where cron runs it, say how often: --expect-worker-within 30m"
        )
    }

    private static func pausedQueue(_ setting: QueueSetting) -> DoctorFinding? {
        guard let since = setting.pausedAt else { return nil }
        let hasCodes = setting.name == AccountLifecycle.queueOfCodes
        let reason = setting.pauseReason.map { ": \(SafeText.line($0))" } ?? ""
        return DoctorFinding(
            // What waits there is worth nothing after five minutes.
            hasCodes ? .error : .warning,
            "jobs.paused",
            "the queue \(SafeText.line(setting.name)) is paused since \(Wording.moment(since))\(reason)",
            why: hasCodes
                ? "Apple's codes expire after five minutes: accounts that sign up now can never be revoked at Apple."
                : "None of its jobs start until the queue is resumed.",
            todo: "Go on with: accountctl jobs resume \(SafeText.line(setting.name))"
        )
    }

    /// A queue whose oldest job is late; which queues are served is nil where that is not the question.
    private static func lateQueue(_ queue: String, oldest seconds: Double, _ served: Set<String>?) -> DoctorFinding? {
        guard seconds > JobFigures.Limits.oldestReady else { return nil }
        let what = "a job in the queue \(queue) has been waiting to run for \(Wording.length(.seconds(Int(seconds))))"
        if let served, !served.contains(queue) {
            return DoctorFinding(
                .warning,
                "jobs.age",
                "\(what), and no worker serves this queue",
                why: "Nobody takes its jobs; those that live serve \(served.sorted().joined(separator: ", ")).",
                todo: "Add such jobs to one of those queues, and cancel what waits here: accountctl jobs list"
            )
        }
        return DoctorFinding(
            .warning,
            "jobs.age",
            what,
            why: "Work comes in faster than it is done, or nobody does it.",
            todo: "Start more workers, or see what they do: accountctl jobs list"
        )
    }

    private static func exhausted(_ figures: JobFigures) -> DoctorFinding? {
        guard figures.exhausted > 0 else { return nil }
        return DoctorFinding(
            .error,
            "jobs.exhausted",
            Wording.count(figures.exhausted, "job") + " failed through all usual attempts",
            why: "They are tried once a day only, and somebody waits for them.",
            todo: "accountctl jobs list names them and their last errors."
        )
    }

    /// Rows of the history that no day's partition takes.
    private static func strayRows(_ figures: JobFigures) -> DoctorFinding? {
        guard figures.defaultRows > 0 else { return nil }
        return DoctorFinding(
            .warning,
            "jobs.partitions",
            "\(figures.defaultRows) rows of the job history have no day's partition",
            why: "Partitions were not made ahead: no worker ran, or it may not create tables.",
            todo: "Let a worker run; it makes them and moves the rows."
        )
    }

    /// What keeps dead rows, or else that there are too many; nil where all is well.
    static func deadRows(_ figures: JobFigures) -> DoctorFinding? {
        if figures.oldestSnapshot > JobFigures.Limits.oldestSnapshot
            || figures.oldestXminAge > JobFigures.Limits.oldestXminAge
        {
            return DoctorFinding(
                .warning,
                "jobs.dead_rows",
                "dead rows of the last \(Wording.count(figures.oldestXminAge, "transaction")) cannot be removed",
                why: "A session, a prepared transaction, a standby or its slot looks at them: the job table grows.",
                todo: "End what holds them: see pg_stat_activity, pg_prepared_xacts and pg_replication_slots."
            )
        }
        guard figures.deadRows > JobFigures.Limits.deadRows else { return nil }
        return DoctorFinding(
            .warning,
            "jobs.dead_rows",
            "the job table has \(Wording.count(figures.deadRows, "dead row"))",
            why: "Vacuums come too seldom, or do not get through: claims walk over what they leave.",
            todo: "Let a worker run, which vacuums each minute; vacuum (verbose) accountctl.jobs says what is left."
        )
    }

    /// The job table belongs to a role that the connection's is not.
    private static func foreignTable(of owner: String) -> DoctorFinding {
        DoctorFinding(
            .warning,
            "jobs.owner",
            "the job table belongs to \(owner), and who connects here may not vacuum it",
            why: "Postgres only warns a worker that connects so: dead rows wait for autovacuum, and slow claims down.",
            todo: "Connect workers as \(owner), or as a member of it."
        )
    }
}
