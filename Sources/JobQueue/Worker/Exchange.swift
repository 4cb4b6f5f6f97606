extension Worker {
    /// What one exchange with the table writes and asks for, settled before a connection is waited for.
    struct Exchange {
        let batch: [FinishedJob]
        /// How many jobs are wanted, if all of the batch is written.
        let limit: Int
        let scope: ClaimScope
        let request: JobQueue.ClaimRequest?
        /// Where jobs are claimed from, without limits and under some.
        let plain: [Lane]
        let limited: [Lane]
        /// Where claims of lanes under limits begin.
        let limitedBounds: ClaimBounds.Start?
        /// The number of the claim in the book of leases; nil where nothing is claimed.
        let number: Int?
        let generation: Int
        let plainGoesFirst: Bool
        let sentAt: ContinuousClock.Instant

        /// How many jobs are wanted in the end: an outcome that could not be written keeps its slot, which was counted as
        /// free.
        func wanted(after written: Settlement.Written) -> Int {
            guard !written.locked.isEmpty else { return limit }
            return limit - batch.count { !$0.wasLocked && written.locked.contains($0.job.leased) }
        }

        /// The claim of what is still wanted; nil where that is nothing.
        func request(after progress: ExchangeProgress) -> JobQueue.ClaimRequest? {
            guard var request else { return nil }
            let (plain, limited) = progress.claims
            let claimed = (plain?.jobs.count ?? 0) + (limited?.jobs.count ?? 0)
            request.limit = wanted(after: progress.written) - claimed
            return request.limit > 0 ? request : nil
        }

        /// How many of those that are wanted are asked of the lanes under limits.
        ///
        /// Half of them where they are asked first: behind a full queue without limits they would never have their turn,
        /// and a job of theirs that ends makes the worker look again.
        func share(of wanted: Int) -> Int {
            plainGoesFirst || plain.isEmpty ? wanted : (wanted + 1) / 2
        }

        /// Whether a job that ends makes room for others of this exchange.
        func makesRoom(_ finished: FinishedJob) -> Bool {
            limited.contains { $0.kind == finished.job.kind }
        }
    }
}
