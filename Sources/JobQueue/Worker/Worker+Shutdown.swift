import Logging
import Metrics
import Postgres
import Synchronization

/// The end of a worker.
extension Worker {
    /// Returns once a stop has taken the longest time it may, whatever the database does.
    ///
    /// After the grace the handlers are told to stop; a while later the worker waits for neither them nor their
    /// outcomes any more. If it holds no jobs, it waits only a moment for an answer of the database.
    func stopIsOverdue() async {
        while !Task.isCancelled {
            guard let since = core.withLock({ $0.stoppingSince }) else {
                await stopSignal.wait()
                continue
            }
            let end = since.advanced(by: configuration.shutdownGrace)
            while ContinuousClock.now < end {
                let next = min(end, .now.advanced(by: Self.patience))
                guard (try? await Task.sleep(until: next, clock: .continuous)) != nil else { return }
                if core.withLock({ $0.plan.holdsNothing }) { return }
            }
            carryOut(core.withLock { $0.book.stopAll() })
            try? await Task.sleep(for: Self.patience, clock: .continuous)
            return
        }
    }

    /// How long to wait for a handler that was told to stop, and for the last writes to the table.
    private static let patience = Duration.seconds(2)

    /// Shuts down: waits for the last handlers within limits, writes their outcomes, and hands the rest back.
    ///
    /// Returns how many outcomes could not be written.
    func shutDown() async -> Int {
        carryOut(core.withLock { $0.book.stopAll() })
        // A handler that respects its cancellation ends in moments; any other is left behind under a void lease.
        let end = ContinuousClock.now.advanced(by: Self.patience)
        while core.withLock({ $0.plan.running }) > 0, ContinuousClock.now < end {
            await signal.wait(for: .milliseconds(50))
        }
        let (all, worker, former, left) = core.withLock { core in
            core.book.endTrust(now: .now)
            return (core.takeAllFinished(), core.worker, core.formerWorker, core.plan.running)
        }
        // Jobs to be released are handed back with everything else that is held.
        let finished = all.filter { $0.verdict != .release }
        metrics.running.record(left)
        if left > 0 {
            logger.error("handlers did not stop and were abandoned", metadata: ["jobs": "\(left)"])
        }
        guard let worker else {
            // It was declared lost: nothing that it might still write would be accepted.
            if let former { _ = await leave(as: former, isLost: true) }
            return 0
        }
        let progress = ExchangeProgress()
        if !finished.isEmpty { await writeLast(finished, progress) }
        let isHandedBack = await leave(as: worker)
        let unwritten =
            finished.count { !progress.written.isSettled($0.job.leased) }
            + (isHandedBack ? 0 : all.count - finished.count)
        guard unwritten > 0 else { return 0 }
        logger.error(
            "outcomes could not be written; their jobs run again",
            metadata: ["jobs": "\(unwritten)", "worker": "\(worker)"]
        )
        return unwritten
    }

    private func writeLast(_ finished: [FinishedJob], _ progress: ExchangeProgress) async {
        do {
            try await within(Self.patience) {
                try await self.control.withConnection { connection in
                    let open = try self.settlement.unwritten(of: finished, progress, on: connection)
                    try self.settlement.write(open, progress, on: connection)
                }
            }
        } catch {
            logger.warning("the last outcomes were not all written", metadata: ["error": "\(Self.reason(error))"])
        }
        settled(finished, progress.written, isInDoubt: false)
    }

    private static func reason(_ error: any Error) -> String {
        error is CancellationError ? "the database did not answer within \(patience)" : Verdict.describe(error)
    }

    /// Deregisters before anything was claimed.
    func leave() async {
        if let worker = core.withLock({ $0.worker }) { _ = await leave(as: worker) }
    }

    /// Hands back everything held, whatever happened to the outcomes: this does not count as a crash.
    ///
    /// Returns whether that succeeded.
    private func leave(as worker: Int64, isLost: Bool = false) async -> Bool {
        do {
            try await within(Self.patience) {
                try await self.control.withConnection { connection in
                    try self.queue.deregister(worker: worker, isLost: isLost, on: connection)
                    // Other workers need to hear of the jobs that go back and of the room that is left; nothing else
                    // notifies them.
                    try? self.queue.notifyUnflushed(Set(self.lanes.prefix(1).map(\.queue)), on: connection)
                }
            }
            logger.info("worker stopped", metadata: ["worker": "\(worker)"])
            return true
        } catch {
            // Nothing tells whether jobs are still held: a claim may have been under way.
            logger.warning(
                """
                could not record that this worker stops: others take the jobs that it still held when their leases end
                """,
                metadata: ["worker": "\(worker)", "error": "\(Self.reason(error))"]
            )
            return false
        }
    }
}
