extension Worker {
    /// What one exchange with the table writes and claims, determined before waiting for a connection.
    struct Exchange {
        let batch: [FinishedJob]
        /// How many jobs to claim if all of the batch is written.
        let limit: Int
        let scope: ClaimScope
        let request: JobQueue.ClaimRequest?
        /// The lanes to claim from: those without limits, and those under limits.
        let plain: [Lane]
        let limited: [Lane]
        /// Where claims of lanes under limits begin.
        let limitedBounds: ClaimBounds.Start?
        /// The number of the claim in the ``LeaseBook``; nil if nothing is claimed.
        let number: Int?
        let generation: Int
        let plainGoesFirst: Bool
        let sentAt: ContinuousClock.Instant

        /// How many jobs to claim after writing: an outcome that could not be written keeps its slot, which was counted
        /// as free.
        func wanted(after written: Settlement.Written) -> Int {
            guard !written.locked.isEmpty else { return limit }
            return limit - batch.count { !$0.wasLocked && written.locked.contains($0.job.leased) }
        }

        /// The claim of the jobs still wanted; nil if there are none.
        func request(after progress: ExchangeProgress) -> JobQueue.ClaimRequest? {
            guard var request else { return nil }
            let (plain, limited) = progress.claims
            let claimed = (plain?.jobs.count ?? 0) + (limited?.jobs.count ?? 0)
            request.limit = wanted(after: progress.written) - claimed
            return request.limit > 0 ? request : nil
        }

        /// How many of the wanted jobs to claim from the lanes under limits.
        ///
        /// Half of them if these lanes come first: behind a full queue without limits they would never get a turn, and
        /// when one of their jobs ends, the worker claims again.
        func share(of wanted: Int) -> Int {
            plainGoesFirst || plain.isEmpty ? wanted : (wanted + 1) / 2
        }

        /// Whether the end of a job makes room under a limit of this exchange's lanes.
        func makesRoom(_ finished: FinishedJob) -> Bool {
            limited.contains { $0.kind == finished.job.kind }
        }
    }
}
