import Logging
import Postgres
import Synchronization

extension Worker {
    /// Talks to the table whenever there is a reason to, until the worker ends.
    func exchangeLoop() async {
        while !Task.isCancelled {
            let now = ContinuousClock.now
            let told = now - configuration.overdueGrace
            let (claimsSuspect, step) = core.withLock { core in
                (core.claimsSuspect(toldBefore: told, now: now), core.step(now: now))
            }
            if claimsSuspect {
                await exchange(claim: 1, from: .suspects)
                continue
            }
            switch step {
            case .exchange(let claim, let scope):
                await exchange(claim: claim, from: scope)
            case .wait(let until):
                if let until {
                    await signal.wait(for: max(.zero, until - now))
                } else {
                    await signal.wait()
                }
            case .end:
                guard core.withLock({ $0.plan.isStopping }) else {
                    if await isIdle() { return }
                    continue
                }
                return
            }
        }
    }

    /// Whether nothing is lost or due and no job that must run alone waits, before ending for lack of work.
    private func isIdle() async -> Bool {
        let queue = self.queue
        let all = lanes
        do {
            guard try await hasRescued() else {
                await signal.wait(for: min(configuration.pollInterval, configuration.rescueInterval))
                return false
            }
            let (promoted, waits) = try await control.withConnection { connection in
                (try queue.promote(on: connection).promoted, try queue.claimable(all, on: connection))
            }
            guard promoted > 0 || waits.plain || waits.suspect else { return true }
            let hasTurn = core.withLock { core in
                core.plan.wake()
                return waits.suspect && core.suspects.found(now: .now)
            }
            // Ready but not claimed: under a limit, locked by another session for a moment, or a suspect whose turn has
            // not come.
            if promoted == 0, !hasTurn { await signal.wait(for: configuration.pollInterval) }
        } catch {
            failed(error)
        }
        return false
    }

    /// Takes the jobs of lost workers as far as possible; false if their workers may still send a heartbeat.
    ///
    /// There may be no other worker to take them before the next of these workers starts.
    private func hasRescued() async throws -> Bool {
        let queue = self.queue
        guard try await control.withConnection({ try queue.hasUnattended(on: $0) }) else { return true }
        guard core.withLock({ $0.mayRescue(now: .now) }) else { return false }
        try await rescueLost()
        return true
    }

    /// Writes finished outcomes and claims jobs, in one statement where possible and configured.
    private func exchange(claim limit: Int, from scope: ClaimScope) async {
        let exchange = beginExchange(claim: limit, from: scope)
        let progress = ExchangeProgress()
        let unused: [ClaimedJob]
        do {
            unused = try await control.withConnection { connection in
                var failure: (any Error)?
                do {
                    try await self.carryOut(exchange, progress, on: connection)
                } catch {
                    failure = error
                }
                // Done before the connection is returned to the pool, so that no job waits for the change of threads
                // that follows.
                return self.conclude(exchange, progress, failure)
            }
        } catch {
            // No connection could be obtained.
            unused = conclude(exchange, progress, error)
        }
        await handBack(unused)
    }

    private func beginExchange(claim limit: Int, from scope: ClaimScope) -> Exchange {
        let sentAt = ContinuousClock.now
        let (plain, limited) = splitLanes(of: scope)
        return core.withLock { core in
            let batch = core.takeFinished(now: sentAt)
            let bounds = scope == .all ? core.bounds.bounds(now: sentAt) : nil
            let limitedBounds = scope == .suspects ? nil : core.limitedBounds.bounds(now: sentAt)
            let number = limit > 0 ? core.book.claimSent() : nil
            if limit > 0 { core.plan.claimSent(from: scope) }
            let request = core.worker.map {
                JobQueue.ClaimRequest(worker: $0, limit: limit, suspects: scope == .suspects, bounds: bounds)
            }
            return Exchange(
                batch: batch,
                limit: limit,
                scope: scope,
                request: number == nil ? nil : request,
                plain: plain,
                limited: limited,
                limitedBounds: limitedBounds,
                number: number,
                generation: core.book.generation,
                plainGoesFirst: core.plainGoesFirst(claiming: limit),
                sentAt: sentAt
            )
        }
    }

    /// Writes outcomes, and claims jobs.
    func carryOut(_ exchange: Exchange, _ progress: ExchangeProgress, on connection: isolated Connection) async throws {
        var unwritten = try settlement.unwritten(of: exchange.batch, progress, on: connection)
        // Written first; otherwise the claim would still count jobs whose end makes room under a limit, and find too
        // few.
        if unwritten.contains(where: exchange.makesRoom) {
            try settlement.write(unwritten, progress, on: connection)
            unwritten = []
        }
        if !exchange.plainGoesFirst { try await claimLimited(of: exchange, progress, on: connection) }
        unwritten = try fused(unwritten, of: exchange, progress, on: connection)
        if !unwritten.isEmpty { try settlement.write(unwritten, progress, on: connection) }
        if progress.claims.plain == nil, !exchange.plain.isEmpty, let request = exchange.request(after: progress) {
            progress.claimed(try queue.claimPlain(exchange.plain, request, on: connection))
        }
        if exchange.plainGoesFirst { try await claimLimited(of: exchange, progress, on: connection) }
    }

    /// Claims from the lanes under limits their share of the wanted jobs.
    ///
    /// If the connection is still usable, an error is only reported to `progress`: a session that holds the lock of a
    /// limit must keep neither outcomes from being written nor other lanes from being claimed.
    private func claimLimited(
        of exchange: Exchange,
        _ progress: ExchangeProgress,
        on connection: isolated Connection
    ) async throws {
        guard !exchange.limited.isEmpty, var request = exchange.request(after: progress) else { return }
        request.limit = exchange.share(of: request.limit)
        request.bounds = exchange.limitedBounds
        request.waiting = core.withLock { $0.limitedBounds.waiting }
        do {
            // All workers queue for the row locks of limits, and such a lock alone makes a commit flush the WAL: not
            // worth it without jobs to take. Once a second, a claim also counts all running jobs; a claim that is
            // skipped here does not count them, so that one stays due.
            guard try queue.mayTake(exchange.limited, request, on: connection) else { return }
            progress.claimed(try await queue.claimLimited(exchange.limited, request, on: connection))
        } catch let error as PostgresError where error.connectionUsable && error.outcomeKnown {
            progress.limitsFailed(error)
        }
    }

    private func handBack(_ claimed: [ClaimedJob]) async {
        guard !claimed.isEmpty else { return }
        let queue = self.queue
        do {
            try await control.withConnection { connection in
                _ = try queue.release(claimed.map(\.leased), on: connection)
            }
            // Nothing else notifies of these jobs, and once claims are trusted again they can be claimed here.
            wake()
        } catch {
            failed(error)
        }
    }

    /// Records that the database failed, and backs off a little longer each time.
    func failed(_ error: any Error) {
        guard !Task.isCancelled else { return }
        let failures = core.withLock { core in
            core.failures += 1
            let wait = min(5, 0.05 * Double(1 << min(core.failures, 7))) * Double.random(in: 0.5...1)
            core.plan.pausedUntil = ContinuousClock.now.advanced(by: .seconds(wait))
            core.plan.wake()
            core.bounds = ClaimBounds()
            core.limitedBounds = LimitedBounds()
            return core.failures
        }
        logger.log(
            level: failures % 100 == 3 ? .error : .debug,
            "the job table could not be used",
            metadata: ["error": "\(Verdict.describe(error))", "failures": "\(failures)"]
        )
    }
}
