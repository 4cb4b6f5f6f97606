import Postgres

extension Worker {
    /// Ends completed jobs and claims the next in one statement, if so configured and if there is anything to claim.
    ///
    /// Returns the outcomes still to be written: a retry among them does not keep the others from sharing the
    /// statement.
    func fused(
        _ unwritten: [FinishedJob],
        of exchange: Exchange,
        _ progress: ExchangeProgress,
        on connection: isolated Connection
    ) throws -> [FinishedJob] {
        guard configuration.fusesClaims, !exchange.plain.isEmpty,
            let worker = exchange.request(after: progress)?.worker
        else { return unwritten }
        func shares(_ finished: FinishedJob) -> Bool {
            finished.verdict.isCompletion && finished.job.leased.worker == worker
        }
        let completed = unwritten.filter(shares)
        guard !completed.isEmpty else { return unwritten }
        if completed.count < unwritten.count {
            try settlement.write(unwritten.filter { !shares($0) }, progress, on: connection)
        }
        // Outcomes that could not be written keep their slots, so there may be nothing left to claim.
        guard let request = exchange.request(after: progress) else { return completed }
        do {
            let ending = try OutcomeBatch(completed).completed
            let (landed, claimed) = try queue.exchange(ending, exchange.plain, request, on: connection)
            progress.wrote(Settlement.Written(landed: landed, lost: Set(ending.jobs).subtracting(landed)))
            progress.claimed(claimed)
            return []
        } catch let error as PostgresError where Settlement.isRefusal(error) {
            // Falls back to separate statements, where each part can fail on its own.
            return completed
        } catch let error as PostgresError where Settlement.isHeldUp(error) {
            return try settlement.withoutLocked(completed, progress, on: connection)
        }
    }
}
