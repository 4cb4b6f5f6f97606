import Postgres

/// Writes outcomes: similar ones together, or one by one if the server refuses a value among them.
struct Settlement: Sendable {
    let queue: JobQueue

    /// The result of writing: the jobs whose outcome was written, and those whose outcome could no longer be written.
    struct Written: Sendable {
        var landed: Set<JobLease> = []
        var lost: Set<JobLease> = []
        /// Jobs whose rows another session has locked.
        var locked: Set<JobLease> = []
        /// How landed jobs ended if not by their verdicts: they were to be cancelled, or had already ended.
        var ended: [JobLease: JobQueue.Ending.Outcome] = [:]
        /// Whether a job is available again; nothing else notifies of that.
        var hasGivenBack = false
        /// The errors of outcomes that were stored only in part, for the log.
        var mended: [JobLease: String] = [:]

        /// Whether nothing is left to write about the job.
        func isSettled(_ job: JobLease) -> Bool { landed.contains(job) || lost.contains(job) }

        mutating func add(_ other: Written) {
            landed.formUnion(other.landed)
            lost.formUnion(other.lost)
            locked.formUnion(other.locked)
            ended.merge(other.ended) { $1 }
            hasGivenBack = hasGivenBack || other.hasGivenBack
            mended.merge(other.mended) { _, new in new }
        }
    }

    /// Writes all jobs except those whose rows another session has locked, and reports each part to `progress` as it is
    /// done.
    ///
    /// If a later part throws, earlier parts stay written; writing them again would look like a lost lease.
    ///
    /// - Throws: ``PostgresError`` if the database cannot be reached or has a temporary failure.
    func write(_ jobs: [FinishedJob], _ progress: ExchangeProgress, on connection: isolated Connection) throws {
        for part in Self.byRegistration(jobs) {
            do {
                try writeAll(part, progress, on: connection)
            } catch let error as PostgresError where Self.isHeldUp(error) {
                let open = part.filter { !progress.written.isSettled($0.job.leased) }
                try writeAll(withoutLocked(open, progress, on: connection), progress, on: connection)
            }
        }
    }

    /// Groups jobs by the registration that claimed them.
    ///
    /// A worker that was registered again may still have outcomes to write from before, and of two claims of one job
    /// the later has the higher lease only within one life of the database.
    private static func byRegistration(_ jobs: [FinishedJob]) -> [[FinishedJob]] {
        let first = jobs.first?.job.leased.worker
        guard jobs.contains(where: { $0.job.leased.worker != first }) else { return [jobs] }
        return Array(Dictionary(grouping: jobs, by: \.job.leased.worker).values)
    }

    private func writeAll(_ jobs: [FinishedJob], _ progress: ExchangeProgress, on connection: isolated Connection)
        throws
    {
        do {
            try write(OutcomeBatch(jobs), progress, on: connection)
        } catch let error as PostgresError where Self.isRefusal(error) {
            // One value that the server cannot store must not keep the others from being written.
            for finished in jobs where !progress.written.isSettled(finished.job.leased) {
                try writeAlone(finished, progress, on: connection)
            }
        }
    }

    private func writeAlone(_ finished: FinishedJob, _ progress: ExchangeProgress, on connection: isolated Connection)
        throws
    {
        do {
            try write(OutcomeBatch([finished]), progress, on: connection)
        } catch let error as PostgresError where Self.isRefusal(error) {
            progress.wrote(Written(mended: [finished.job.leased: Verdict.describe(error)]))
            var mended = finished
            mended.verdict = Self.mended(finished.verdict)
            try write(OutcomeBatch([mended]), progress, on: connection)
        }
    }

    private func write(_ batch: OutcomeBatch, _ progress: ExchangeProgress, on connection: isolated Connection) throws {
        for ending in [batch.completed, batch.cancelled, batch.discarded] {
            let landed = try queue.finish(ending, on: connection)
            progress.wrote(Written(landed: landed, lost: Set(ending.jobs).subtracting(landed)))
        }
        let released = try queue.release(batch.released, on: connection)
        progress.wrote(
            Written(
                landed: released.union(batch.silent),
                lost: Set(batch.released).subtracting(released),
                hasGivenBack: !released.isEmpty
            )
        )
        let returned = try queue.giveBack(batch.returned, on: connection)
        progress.wrote(Written(landed: Set(returned.keys), hasGivenBack: returned.values.contains(true)))
        // Not given back: either the lease is lost, or a cancel came meanwhile. Only one of these two statements can
        // land.
        let refused = try JobQueue.Ending.cancelled(insteadOf: batch.returned.filter { returned[$0.job] == nil })
        let cancelled = try queue.finish(refused, on: connection)
        progress.wrote(
            Written(
                landed: cancelled,
                lost: Set(refused.jobs).subtracting(cancelled),
                ended: Dictionary(uniqueKeysWithValues: cancelled.map { ($0, JobQueue.Ending.Outcome.cancelled) })
            )
        )
    }

    /// Removes jobs whose rows another session has locked, and reports these to `progress`.
    func withoutLocked(
        _ jobs: [FinishedJob],
        _ progress: ExchangeProgress,
        on connection: isolated Connection
    ) throws -> [FinishedJob] {
        let locked = try queue.locked(jobs.map(\.job.leased), on: connection)
        progress.wrote(Written(locked: locked))
        return jobs.filter { !locked.contains($0.job.leased) }
    }

    /// Removes outcomes that need not or cannot be written now, and reports these to `progress`.
    ///
    /// A job that an earlier attempt ended, but whose answer was lost, would look like a lost lease. Rows that were
    /// locked are not waited for again.
    func unwritten(
        of jobs: [FinishedJob],
        _ progress: ExchangeProgress,
        on connection: isolated Connection
    ) throws -> [FinishedJob] {
        try Self.byRegistration(jobs).flatMap { part in
            var part = part
            if part.contains(where: \.wasLocked) {
                let open = try withoutLocked(part.filter(\.wasLocked), progress, on: connection)
                part = part.filter { !$0.wasLocked } + open
            }
            let doubtful = part.filter(\.isInDoubt).map(\.job.leased)
            guard !doubtful.isEmpty else { return part }
            let ended = try queue.ended(doubtful, on: connection)
            progress.wrote(Written(landed: Set(ended.keys), ended: ended))
            return part.filter { ended[$0.job.leased] == nil }
        }
    }
}
