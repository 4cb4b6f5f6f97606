import Logging
import Postgres
import Synchronization

extension Worker {
    /// Talks to the table whenever there is reason to, until the worker ends.
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

    /// Whether, before an end for lack of work, nothing is due and nothing waits that must run alone.
    private func isIdle() async -> Bool {
        let queue = self.queue
        let all = lanes
        do {
            let (promoted, waits) = try await control.withConnection { connection in
                (try queue.promote(on: connection).promoted, try queue.claimable(all, on: connection))
            }
            guard promoted > 0 || waits.plain || waits.suspect else { return true }
            let hasTurn = core.withLock { core in
                core.plan.wake()
                return waits.suspect && core.suspects.found(now: .now)
            }
            // Ready and yet not claimed: under a limit, in the hands of another session for a moment, or a suspect
            // whose turn has not come.
            if promoted == 0, !hasTurn { await signal.wait(for: configuration.pollInterval) }
        } catch {
            failed(error)
        }
        return false
    }

    /// Writes what is finished and claims; in one transaction where both are plain and the configuration wants it.
    private func exchange(claim limit: Int, from scope: ClaimScope) async {
        let exchange = beginExchange(claim: limit, from: scope)
        let (plain, limited) = splitLanes(of: scope)
        let progress = ExchangeProgress()
        let unused: [ClaimedJob]
        do {
            unused = try await control.withConnection { connection in
                var failure: (any Error)?
                do {
                    try await self.carryOut(exchange, plain, limited, progress, on: connection)
                } catch {
                    failure = error
                }
                // Before the connection is given back: no job waits for the change of threads behind that.
                return self.conclude(exchange, progress, failure)
            }
        } catch {
            // There was no connection to be had.
            unused = conclude(exchange, progress, error)
        }
        await handBack(unused)
    }

    private func beginExchange(claim limit: Int, from scope: ClaimScope) -> Exchange {
        let sentAt = ContinuousClock.now
        return core.withLock { core in
            let batch = core.takeFinished(now: sentAt)
            let remembers = configuration.remembersBounds
            let bounds = remembers && scope == .all ? core.bounds.bounds(now: sentAt) : nil
            let limitedBounds = remembers && scope != .suspects ? core.limitedBounds.bounds(now: sentAt) : nil
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
                limitedBounds: limitedBounds,
                number: number,
                generation: core.book.generation,
                plainGoesFirst: core.plainGoesFirst(claiming: limit),
                sentAt: sentAt
            )
        }
    }

    func carryOut(
        _ exchange: Exchange,
        _ plain: [Lane],
        _ limited: [Lane],
        _ progress: ExchangeProgress,
        on connection: isolated Connection
    ) async throws {
        let batch = exchange.batch
        var request = exchange.request
        var unwritten = try settlement.unwritten(of: batch, progress, on: connection)
        // A job that ends makes room under its limit: written first, or the claim would still count it and come back
        // short.
        if unwritten.contains(where: { finished in limited.contains { $0.kind == finished.job.kind } }) {
            try settlement.write(unwritten, progress, on: connection)
            unwritten = []
        }
        if !exchange.plainGoesFirst {
            // Before the others and for half of the slots: behind a full queue without limits they would never have
            // their turn. A job of theirs that ends makes the worker look again.
            try await claimLimited(
                limited,
                of: exchange,
                &request,
                atMost: { ($0 + 1) / 2 },
                progress,
                on: connection
            )
        }
        // What could not be written keeps its slots, which were counted as free.
        func keepSlots() {
            let kept = batch.count { !$0.wasLocked && progress.written.locked.contains($0.job.leased) }
            request?.limit -= kept - progress.kept
            progress.keptSlots(kept)
        }
        let others = unwritten.filter { !$0.verdict.isCompletion }
        if fuses(request, plain), !others.isEmpty, others.count < unwritten.count {
            // What completed shares the claim's statement all the same.
            try settlement.write(others, progress, on: connection)
            unwritten.removeAll { !$0.verdict.isCompletion }
            keepSlots()
        }
        if fuses(request, plain), let request, !unwritten.isEmpty {
            do {
                if let fused = try fused(unwritten, request, plain, on: connection) {
                    unwritten = []
                    progress.wrote(fused.written)
                    progress.claimed(fused.claimed)
                }
            } catch let error as PostgresError where Settlement.isHeldUp(error) {
                unwritten = try settlement.withoutLocked(unwritten, progress, on: connection)
            }
        }
        if !unwritten.isEmpty { try settlement.write(unwritten, progress, on: connection) }
        keepSlots()
        if let request, request.limit > 0, progress.claims.plain == nil, !plain.isEmpty {
            progress.claimed(try queue.claimPlain(plain, request, on: connection))
        }
        if exchange.plainGoesFirst {
            request?.limit -= progress.claims.plain?.jobs.count ?? 0
            try await claimLimited(limited, of: exchange, &request, atMost: { $0 }, progress, on: connection)
        }
    }

    /// Whether a claim of these lanes shares a statement with outcomes.
    private func fuses(_ request: JobQueue.ClaimRequest?, _ plain: [Lane]) -> Bool {
        configuration.fusesClaims && !plain.isEmpty && (request?.limit ?? 0) > 0
    }

    /// Claims from the lanes under limits, a share of what is wanted, and lessens the request by what it got.
    ///
    /// Where the connection is still of use, `progress` is told of an error: whoever holds the lock of a limit must keep
    /// neither outcomes from being written nor other lanes from being claimed.
    private func claimLimited(
        _ lanes: [Lane],
        of exchange: Exchange,
        _ request: inout JobQueue.ClaimRequest?,
        atMost share: (Int) -> Int,
        _ progress: ExchangeProgress,
        on connection: isolated Connection
    ) async throws {
        guard var part = request, !lanes.isEmpty else { return }
        part.limit = share(part.limit)
        guard part.limit > 0 else { return }
        part.bounds = exchange.limitedBounds
        part.waiting = core.withLock { $0.limitedBounds.waiting }
        do {
            let claimed = try await queue.claimLimited(lanes, part, on: connection)
            progress.claimed(claimed)
            request?.limit -= claimed.jobs.count
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
            // Nobody else tells of them, and once claims are trusted again they are among what is to be had.
            wake()
        } catch {
            failed(error)
        }
    }

    /// The database did not answer, or not well: come back a little later each time.
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
