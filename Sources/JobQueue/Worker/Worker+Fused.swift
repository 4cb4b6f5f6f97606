import Postgres

extension Worker {
    /// Ends what completed and claims the next in one statement, where the configuration wants that and something is to
    /// be claimed.
    ///
    /// Returns what is still to be written: one retry among them does not cost the others their part in the statement.
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
        // What could not be written keeps its slot: perhaps nothing is left to be claimed.
        guard let request = exchange.request(after: progress) else { return completed }
        do {
            let ending = try OutcomeBatch(completed).completed
            let (landed, claimed) = try queue.exchange(ending, exchange.plain, request, on: connection)
            progress.wrote(Settlement.Written(landed: landed, lost: Set(ending.jobs).subtracting(landed)))
            progress.claimed(claimed)
            return []
        } catch let error as PostgresError where Settlement.isRefusal(error) {
            // The plain way, where each part stands for itself.
            return completed
        } catch let error as PostgresError where Settlement.isHeldUp(error) {
            return try settlement.withoutLocked(completed, progress, on: connection)
        }
    }
}
