import AccountLifecycle
import JobQueue
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Replays a list of erasures: compares it with the database, asks for confirmation, then cancels, pauses and opens
/// requests.
///
/// Each act checks the current state again, so a run may end at any point without losing or repeating work.
struct ReplayRun {
    let context: CommandContext
    let pool: Pool
    let file: ErasureListFile
    let actor: Operator
    let ownReason: String?
    let confirmation: ConfirmOptions
    let yes: Bool

    /// The counts of what was done.
    struct Done {
        var counts: [ErasureReplay.Act: Int] = [:]
        var refused = 0

        /// The outcome of the whole run.
        var outcome: ActOutcome { refused > 0 && refused == all ? .refused : .done }

        var all: Int { counts.values.reduce(0, +) + refused }
    }

    private var desk: DeletionDesk { DeletionDesk(actor) }
    private var reason: String { ErasureReplay.reason(ownReason) }

    func run() async throws -> ExitStatus {
        let seen = try await look()
        tellOfList(seen)
        tellBefore(seen)
        if confirmation.dryRun {
            try context.output.show(sheet(seen, seen.isUnchanged ? .unchanged : .wouldBeDone, skipped: seen.skips))
            return .ok
        }
        if !seen.repeatsNothing, seen.isWorked, !seen.isPaused {
            try context.confirm("Continue although a worker is alive?", yes: yes)
        }
        if let word = wordToType(seen) { try context.confirmIrreversible(question(seen), id: word, confirmation) }
        let skipped = seen.skips == nil ? nil : try await skipReceipts()
        if seen.repeatsNothing {
            try context.output.show(sheet(seen, skipped == nil ? .unchanged : .done, skipped: skipped))
            return .ok
        }
        let done = try await work(seen.replay.steps)
        try context.output.show(sheet(seen, done.outcome, skipped: skipped, done))
        tellAfter(seen)
        if done.refused > 0 {
            throw CommandError(
                .blocked,
                "\(Wording.count(done.refused, "request")) could not be cancelled or paused: the warnings say why"
            )
        }
        return .ok
    }

    private func look() async throws -> ReplaySurvey {
        let (list, key) = (file.list, actor.hashKey)
        return try await pool.withConnection { connection in
            let replay = try ErasureReplay.plan(list, key: key, on: connection)
            let identity = try DatabaseIdentity.read(on: connection)
            var skips: ClosedRange<Int64>?
            if let last = list.lastReceipt { skips = try DeletionDesk.receiptsToSkip(upTo: last, on: connection) }
            return ReplaySurvey(
                database: identity,
                life: try DatabaseLife(of: identity, on: connection),
                replay: replay,
                held: try survey(replay, on: connection),
                skips: skips,
                isPaused: try StandingBrakes.read(on: connection).everything != nil,
                isWorked: try JobQueue().workers(on: connection).contains { $0.status == .alive && !$0.kinds.isEmpty }
            )
        }
    }

    /// The text that must be typed as confirmation; nil if none is needed.
    ///
    /// If only receipt numbers are to be skipped, no confirmation is needed for a list that this database wrote. The
    /// list of another app names numbers that mean nothing here, and such a list cannot be told from that of a dump
    /// restored into another database.
    func wordToType(_ seen: ReplaySurvey) -> String? {
        if !seen.repeatsNothing { return "\(seen.replay.steps.count)" }
        let isOwn = file.lives.allSatisfy { $0.database == seen.database.description }
        return isOwn ? nil : seen.skips.map { "\($0.upperBound)" }
    }

    /// How many of the accounts to be erased are under a legal hold; refuses a reason that names one of the accounts.
    private func survey(_ replay: ErasureReplay, on connection: isolated Connection) throws -> Int {
        var held = 0
        for page in replay.steps.map(\.user).pages {
            try desk.refuseWords(reason, naming: page, on: connection)
            held += try desk.survey(page, on: connection).held
        }
        return held
    }

    /// Skips the receipt numbers up to the last one in the list, so that no future receipt reuses the number of a lost
    /// one.
    ///
    /// - Returns: The numbers that were skipped; nil if there were none.
    private func skipReceipts() async throws -> ClosedRange<Int64>? {
        guard let last = file.list.lastReceipt else { return nil }
        let skipped = try await pool.withConnection { connection in
            try await DeletionDesk.skipReceipts(upTo: last, on: connection)
        }
        if skipped != nil {
            context.messages.note("the next receipt gets a number above \(last), the last one that the list names")
        }
        return skipped
    }

    private func work(_ steps: [ErasureReplay.Step]) async throws -> Done {
        let progress = context.progress("Repeating", total: steps.count)
        var done = Done()
        // Cancellations and pauses come first: an account may have requested its deletion again after it cancelled.
        for step in steps where step.act == .cancel || step.act == .pause {
            try await takeBack(step, &done)
            progress.update(done.all)
        }
        for act in [ErasureReplay.Act.erase, .reopen] {
            var rest = steps.filter { $0.act == act }[...]
            while !rest.isEmpty {
                let batch = Array(rest.prefix(BulkPace.largestBatch))
                rest = rest.dropFirst(batch.count)
                let (desk, reason) = (desk, reason)
                done.counts[act, default: 0] += try await pool.withConnection { connection in
                    try await desk.reopen(batch, reason: reason, on: connection)
                }
                progress.update(done.all)
            }
        }
        progress.finish(done.all)
        return done
    }

    private func takeBack(_ step: ErasureReplay.Step, _ done: inout Done) async throws {
        let (desk, reason) = (desk, reason)
        let request = step.listed.request
        let act = try await pool.withConnection { connection in
            step.act == .cancel
                ? try await desk.cancel(request, reason: reason, on: connection)
                : try await desk.pause(request, reason: reason, on: connection)
        }
        switch act {
        case .done: done.counts[step.act, default: 0] += 1
        case .refused(let why):
            done.refused += 1
            context.messages.warning("\(request.text): \(why.words)")
        case .unchanged, .waiting, .unknownRequest, .ended: break
        }
    }
}
