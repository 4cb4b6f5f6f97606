import Postgres

/// A job whose handler is done, with what is to be written about it.
struct FinishedJob: Sendable {
    let job: ClaimedJob
    let verdict: Verdict
    /// Whether it was sent before and the answer lost: it may be written already.
    var isInDoubt = false
    /// Whether another session had its row locked when it was to be written.
    var wasLocked = false
}

/// Writes outcomes: batches where many ended alike, one by one where they did not, or where a batch was refused.
struct Settlement: Sendable {
    let queue: JobQueue

    /// The jobs whose outcome was written, and those of which nothing could be written any more.
    struct Written: Sendable {
        var landed: Set<JobLease> = []
        var lost: Set<JobLease> = []
        /// Those whose rows another session has locked.
        var locked: Set<JobLease> = []
        /// Those of them that were cancelled, whatever their handlers asked for.
        var cancelled: Set<JobLease> = []
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
            cancelled.formUnion(other.cancelled)
            hasGivenBack = hasGivenBack || other.hasGivenBack
            mended.merge(other.mended) { _, new in new }
        }
    }

    /// The batch of those that end as completed, and the rest.
    static func split(_ jobs: [FinishedJob]) -> (completed: JobQueue.Ending, others: [FinishedJob]) {
        var ending = JobQueue.Ending(outcome: .completed)
        ending.jobs.reserveCapacity(jobs.count)
        var outputs = ""
        var others: [FinishedJob] = []
        for finished in jobs {
            guard case .end(.completed, let output, nil, nil) = finished.verdict else {
                others.append(finished)
                continue
            }
            ending.jobs.append(finished.job.leased)
            if let output {
                outputs += outputs.isEmpty ? "{" : ","
                outputs += finished.job.leased.member(output.json)
            }
        }
        if !outputs.isEmpty { ending.outputs = outputs + "}" }
        return (ending, others)
    }

    /// Writes all but those whose rows another session has locked, and tells `progress` of each part as it is done.
    ///
    /// What was written stays written when a later part throws; written again it would look like a lease that was lost.
    ///
    /// - Throws: ``PostgresError`` when the database cannot be reached or asks to come back later.
    func write(_ jobs: [FinishedJob], _ progress: ExchangeProgress, on connection: isolated Connection) throws {
        do {
            try writeAll(jobs, progress, on: connection)
        } catch let error as PostgresError where Self.isHeldUp(error) {
            let open = jobs.filter { !progress.written.isSettled($0.job.leased) }
            try writeAll(withoutLocked(open, progress, on: connection), progress, on: connection)
        }
    }

    private func writeAll(_ jobs: [FinishedJob], _ progress: ExchangeProgress, on connection: isolated Connection)
        throws
    {
        let (completed, others) = Self.split(jobs)
        do {
            let landed = try queue.finish(completed, on: connection)
            progress.wrote(Written(landed: landed, lost: Set(completed.jobs).subtracting(landed)))
        } catch let error as PostgresError where Self.isRefusal(error) {
            // One value that the server cannot store must not keep the others from being written.
            for finished in jobs {
                guard case .end(.completed, _, nil, nil) = finished.verdict else { continue }
                progress.wrote(try writeAlone(finished, on: connection))
            }
        }
        let released = others.filter { $0.verdict == .release }.map(\.job.leased)
        let landed = try queue.release(released, on: connection)
        progress.wrote(
            Written(landed: landed, lost: Set(released).subtracting(landed), hasGivenBack: !landed.isEmpty)
        )
        for finished in others where finished.verdict != .release {
            progress.wrote(try writeAlone(finished, on: connection))
        }
    }

    /// Leaves out those whose rows another session has locked, and tells `progress` of them.
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
        var jobs = jobs
        if jobs.contains(where: \.wasLocked) {
            jobs = try jobs.filter { !$0.wasLocked } + withoutLocked(jobs.filter(\.wasLocked), progress, on: connection)
        }
        let doubtful = jobs.filter(\.isInDoubt).map(\.job.leased)
        guard !doubtful.isEmpty else { return jobs }
        let ended = try queue.ended(doubtful, on: connection)
        progress.wrote(Written(landed: ended))
        return jobs.filter { !ended.contains($0.job.leased) }
    }

    private func writeAlone(_ finished: FinishedJob, on connection: isolated Connection) throws -> Written {
        let job = finished.job.leased
        var written = Written()
        let landing: Landing?
        do {
            landing = try apply(finished.verdict, to: finished.job, on: connection)
        } catch let error as PostgresError where Self.isRefusal(error) {
            written.mended[job] = Verdict.describe(error)
            landing = try apply(Self.mended(finished.verdict), to: finished.job, on: connection)
        }
        if landing == nil { written.lost.insert(job) } else { written.landed.insert(job) }
        if landing == .cancelled { written.cancelled.insert(job) }
        written.hasGivenBack = landing == .available
        return written
    }

    /// What was written, as far as the verdict does not tell.
    private enum Landing {
        case asDecided, available, cancelled
    }

    /// Nil when the lease is lost.
    private func apply(_ verdict: Verdict, to job: ClaimedJob, on connection: isolated Connection) throws -> Landing? {
        switch verdict {
        case .end(let outcome, let output, let reason, let failure):
            return try end(job, outcome, output, reason, failure, on: connection) ? .asDecided : nil
        case .giveBack(let wait, let givesAttemptBack, let failure, let isExhausted, let crashes, let isWell):
            let back = JobQueue.Return(
                job: job.leased,
                wait: wait,
                givesAttemptBack: givesAttemptBack,
                failure: try failure.map { try JobDocument(encoding: $0).json },
                isExhausted: isExhausted,
                // It ran, alone at first, and its process lives: what died before died of something else.
                crashes: crashes ?? (job.crashes > 0 ? 0 : nil),
                isWell: isWell
            )
            if let isAvailable = try queue.giveBack(back, on: connection) {
                return isAvailable ? .available : .asDecided
            }
            // Refused: the lease is lost, or a cancel came meanwhile. Only one of these two can land.
            return try end(job, .cancelled, nil, "cancelled while running", failure, on: connection) ? .cancelled : nil
        case .park(let reason, let failure):
            let entry = try JobDocument(encoding: failure).json
            if try queue.park(job.leased, for: reason, failure: entry, on: connection) {
                return .asDecided
            }
            return try end(job, .cancelled, nil, "cancelled while running", failure, on: connection) ? .cancelled : nil
        case .release:
            return try queue.release([job.leased], on: connection).isEmpty ? nil : .available
        case .nothing:
            return .asDecided
        }
    }

    private func end(
        _ job: ClaimedJob,
        _ outcome: JobQueue.Ending.Outcome,
        _ output: JobDocument?,
        _ reason: String?,
        _ failure: Verdict.Failure?,
        on connection: isolated Connection
    ) throws -> Bool {
        func object(_ json: String) -> String { "{\(job.leased.member(json))}" }
        let ending = JobQueue.Ending(
            outcome: outcome,
            jobs: [job.leased],
            outputs: output.map { object($0.json) },
            reasons: try reason.map { object(try JobDocument(encoding: $0).json) },
            failures: try failure.map { object(try JobDocument(encoding: $0).json) }
        )
        return try queue.finish(ending, on: connection).contains(job.leased)
    }

    /// The verdict without what the server may have refused: the work is done, and is recorded as done.
    private static func mended(_ verdict: Verdict) -> Verdict {
        switch verdict {
        case .end(let outcome, _, let reason, _):
            .end(outcome, reason: reason.map(ascii) ?? "its output could not be stored")
        case .giveBack(let wait, let givesAttemptBack, _, let isExhausted, let crashes, let isWell):
            .giveBack(
                wait: wait,
                givesAttemptBack: givesAttemptBack,
                isExhausted: isExhausted,
                crashes: crashes,
                isWell: isWell
            )
        case .park(let reason, let failure):
            .park(reason: reason, failure: .init(attempt: failure.attempt, error: ascii(failure.error)))
        case .release, .nothing: verdict
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
