import AccountLifecycle
import JobQueue
import Postgres
import Terminal

extension DatabaseDoctor {
    func jobs(on connection: isolated Connection) throws -> [DoctorFinding] {
        let (alive, lastBeat) = try JobQueue().presence(on: connection)
        let paused = try JobQueue().queueSettings(on: connection).compactMap(Self.pausedQueue)
        let figures = try JobQueue().figures(on: connection)
        let late = try lateQueues(figures, isAnyoneAlive: alive > 0, on: connection)
        let keeper = try figures.areDeadRowsKept ? JobQueue().oldestKeeper(on: connection) : nil
        let owner = try JobQueue().ownerWhoVacuums(on: connection)
        let discarded = try JobQueue().discarded(on: connection)
        let unreadable = try JobQueue().unreadable(on: connection)
        let whole = [
            Self.exhausted(figures), Self.discarded(discarded),
            Self.unreadable(unreadable), Self.strayRows(figures),
            Self.deadRows(figures, keptBy: keeper), owner.map { Self.foreignTable(of: SafeText.line($0)) },
        ]
        return [workers(alive, lastBeat: lastBeat)] + paused + late + whole.compactMap(\.self)
    }

    /// Whether a worker is alive.
    private func workers(_ alive: Int, lastBeat: Duration?) -> DoctorFinding {
        if alive > 0 { return .ok("workers.alive", Wording.count(alive, "worker") + " alive") }
        let last =
            lastBeat.map { "the last one was seen \(Wording.length(.seconds($0.components.seconds))) ago" }
            ?? "none was ever seen"
        let isWithinPatience = lastBeat.map { $0 <= patience } == true
        if isPatienceStated, isWithinPatience { return .ok("workers.alive", "no worker runs now; \(last)") }
        return DoctorFinding(
            // An authorization code expires within five minutes, so an absence longer than a restart is too long.
            isWithinPatience ? .warning : .error,
            "workers.alive",
            "no worker is alive; \(last)",
            why: "Requests wait, and Apple's authorization codes expire after five minutes.",
            todo: isPatienceStated
                ? "See why nothing starts one: accountctl worker --until-idle"
                : "Start one: accountctl worker. If cron runs it, say how often: --expect-worker-within 30m"
        )
    }

    private static func pausedQueue(_ setting: QueueSetting) -> DoctorFinding? {
        guard let since = setting.pausedAt else { return nil }
        let hasCodes = setting.name == AccountLifecycle.queueOfCodes
        let reason = setting.pauseReason.map { ": \(SafeText.line($0))" } ?? ""
        return DoctorFinding(
            // The codes in this queue expire after five minutes.
            hasCodes ? .error : .warning,
            "jobs.paused",
            "the queue \(SafeText.line(setting.name)) is paused since \(Wording.moment(since))\(reason)",
            why: hasCodes
                ? "Apple's authorization codes expire after five minutes: accounts that sign up now cannot be revoked "
                    + "at Apple until they sign in with Apple again."
                : "None of its jobs start until the queue is resumed.",
            todo: "Resume with: accountctl jobs resume \(SafeText.line(setting.name))"
        )
    }

    private static func exhausted(_ figures: JobFigures) -> DoctorFinding? {
        guard figures.exhausted > 0 else { return nil }
        return DoctorFinding(
            .error,
            "jobs.exhausted",
            Wording.count(figures.exhausted, "job") + " failed through all usual attempts",
            why: "They are tried only once a day, although people wait for their results.",
            todo: "accountctl jobs list --exhausted names them and their last errors; once the cause is gone: "
                + "accountctl jobs retry --exhausted"
        )
    }

    /// Jobs that failed in all their attempts and that nothing tries again.
    private static func discarded(_ kinds: [(kind: String, count: Int)]) -> DoctorFinding? {
        let count = kinds.reduce(0) { $0 + $1.count }
        guard count > 0 else { return nil }
        return DoctorFinding(
            .warning,
            "jobs.discarded",
            "\(Wording.count(count, "job was", "jobs were")) given up in the last day: "
                + Wording.list(kinds.map { SafeText.line($0.kind) }),
            why: "No job has done their work since. A kind that fails each time does none of its work.",
            todo: "accountctl jobs list --state discarded shows them and their errors. Once the cause is gone, give "
                + "their ids to accountctl jobs retry."
        )
    }

    /// Jobs that are set aside; no other figure shows them, since they neither fail nor become late.
    private static func unreadable(_ kinds: [(kind: String, count: Int)]) -> DoctorFinding? {
        let count = kinds.reduce(0) { $0 + $1.count }
        guard count > 0 else { return nil }
        let whose = count == 1 ? "its" : "their"
        return DoctorFinding(
            .error,
            "jobs.unreadable",
            "\(Wording.count(count, "job is", "jobs are")) set aside, since no worker could read \(whose) arguments: "
                + Wording.list(kinds.map { SafeText.line($0.kind) }),
            why: "They wait for a release that can, and a deletion among them makes no progress, even past its "
                + "deadline.",
            todo: "accountctl jobs list --state parked says what is wrong with each. Start the release that added "
                + "it, or cancel a job that was added by mistake: a deletion gets another job within a minute."
        )
    }

    /// Rows of the job history that no daily partition covers.
    private static func strayRows(_ figures: JobFigures) -> DoctorFinding? {
        guard figures.defaultRows > 0 else { return nil }
        return DoctorFinding(
            .warning,
            "jobs.partitions",
            Wording.count(figures.defaultRows, "row of the job history is", "rows of the job history are")
                + " in no day's partition",
            why: "Partitions were not created in advance: no worker ran, or it may not create tables.",
            todo: "Run a worker, which creates them and moves the rows."
        )
    }

    /// What keeps vacuum from removing dead rows, or else that there are too many; nil if all is well.
    static func deadRows(_ figures: JobFigures, keptBy keeper: DeadRowKeeper?) -> DoctorFinding? {
        if figures.areDeadRowsKept {
            let ending = keeper?.ending.map { "If nobody needs it: \(SafeText.line($0));" } ?? "End what holds them:"
            return DoctorFinding(
                .warning,
                "jobs.dead_rows",
                "\(SafeText.line(keeper?.name ?? "something")) keeps the dead rows of the last "
                    + Wording.count(figures.oldestXminAge, "transaction"),
                why: "Meanwhile, vacuum cannot remove them: the job table grows, and claims have to read past them.",
                todo: ending + " pg_stat_activity, pg_prepared_xacts and pg_replication_slots show the others."
            )
        }
        guard figures.deadRows > JobFigures.Limits.deadRows else { return nil }
        return DoctorFinding(
            .warning,
            "jobs.dead_rows",
            "the job table has \(Wording.count(figures.deadRows, "dead row"))",
            why: "Vacuum runs too seldom, or cannot finish: claims have to read past the dead rows.",
            todo: "Run a worker, which vacuums every minute; vacuum (verbose) accountctl.jobs shows what is left."
        )
    }

    /// The job table belongs to a role whose rights the connection's role lacks.
    private static func foreignTable(of owner: String) -> DoctorFinding {
        DoctorFinding(
            .warning,
            "jobs.owner",
            "the job table belongs to \(owner), and the role that connects here may not vacuum it",
            why: "Postgres only warns such a worker: dead rows wait for autovacuum, and slow down claims.",
            todo: "Connect workers as \(owner), or as a member of it."
        )
    }
}
