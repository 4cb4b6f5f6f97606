import Postgres

/// A job whose handler is done, with what is to be written about it.
struct FinishedJob: Sendable {
    let job: ClaimedJob
    var verdict: Verdict
    /// Whether it was sent before, or its handler ended the job itself, and the answer was lost: it may be written
    /// already.
    var isInDoubt = false
    /// Whether another session had its row locked when it was to be written.
    var wasLocked = false
}

/// Writes outcomes: those that are alike together, one by one where the server refuses a value among them.
struct Settlement: Sendable {
    let queue: JobQueue

    /// The jobs whose outcome was written, and those of which nothing could be written any more.
    struct Written: Sendable {
        var landed: Set<JobLease> = []
        var lost: Set<JobLease> = []
        /// Jobs whose rows another session has locked.
        var locked: Set<JobLease> = []
        /// How landed jobs ended where their verdicts need not tell: they were to be cancelled, or had ended before.
        var ended: [JobLease: JobQueue.Ending.Outcome] = [:]
        /// Whether a job is available again, of which nobody tells.
        var hasGivenBack = false
        /// What could not be stored as it was; told for the log.
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

    /// Writes all jobs but those whose rows another session has locked, and tells `progress` of each part as it is
    /// done.
    ///
    /// What was written stays written when a later part throws; written again it would look like a lease that was lost.
    ///
    /// - Throws: ``PostgresError`` when the database cannot be reached or asks to come back later.
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

    /// Parts jobs by whom they were claimed for: a worker that was registered anew may still have to write what it did
    /// of a job before, and of two claims of one job the later has the higher number in one life of the database alone.
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
        // Refused: the lease is lost, or a cancel came meanwhile. Only one of these two can land.
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

    /// Leaves out jobs whose rows another session has locked, and tells `progress` of them.
    func withoutLocked(
        _ jobs: [FinishedJob],
        _ progress: ExchangeProgress,
        on connection: isolated Connection
    ) throws -> [FinishedJob] {
        let locked = try queue.locked(jobs.map(\.job.leased), on: connection)
        progress.wrote(Written(locked: locked))
        return jobs.filter { !locked.contains($0.job.leased) }
    }

    /// Leaves out what need not, or cannot, be written now, and tells `progress` of it.
    ///
    /// What an earlier try ended although its answer was lost would look like a lease that was lost; what was locked is
    /// not waited for once more.
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

    /// The verdict without what the server may have refused: the work is done, and is recorded as done.
    private static func mended(_ verdict: Verdict) -> Verdict {
        switch verdict {
        case .end(let outcome, _, let reason, _):
            return .end(outcome, reason: reason.map(ascii) ?? "its output could not be stored")
        case .giveBack(var next):
            next.failure = nil
            return .giveBack(next)
        case .park(let reason, let failure):
            return .park(reason: reason, failure: .init(attempt: failure.attempt, error: ascii(failure.error)))
        case .release, .nothing:
            return verdict
        }
    }

    private static func ascii(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { $0.isASCII && $0.value >= 0x20 ? $0 : "?" }))
    }

    /// Whether a lock of another session was waited for in vain; where the session keeps no limit of ours for that, as
    /// long as any statement may take.
    static func isHeldUp(_ error: PostgresError) -> Bool {
        error.connectionUsable && error.outcomeKnown
            && (error.sqlState == .lockNotAvailable || error.code == .deadlineExceeded)
    }

    /// Whether the server refused the values, rather than the moment: data out of form or out of bounds.
    static func isRefusal(_ error: PostgresError) -> Bool {
        guard error.connectionUsable else { return false }
        if error.code == .encoding { return true }
        guard error.code == .server, let sqlState = error.sqlState else { return false }
        return ["22", "23", "54"].contains(sqlState.class.rawValue)
    }
}
