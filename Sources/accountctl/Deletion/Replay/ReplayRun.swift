import AccountLifecycle
import JobQueue
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Repeats a list of erasures: compares first, asks, then cancels, pauses and opens requests.
///
/// Each act looks again by itself, so that nothing is lost or done twice whenever a run ends.
struct ReplayRun {
    let context: CommandContext
    let pool: Pool
    let file: ErasureListFile
    let actor: Operator
    let ownReason: String?
    let confirmation: ConfirmOptions
    let yes: Bool

    /// What was done.
    struct Done {
        var counts: [ErasureReplay.Act: Int] = [:]
        var refused = 0

        /// What came of it as a whole.
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
        if !seen.repeatsNothing, seen.isWorked, !seen.isPaused, !yes {
            var options = WriteOptions()
            (options.dryRun, options.yes) = (false, false)
            try context.confirm("Go on beside a live worker?", options)
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

    /// What has to be typed before it is done; nil where nobody is asked.
    ///
    /// Numbers alone are skipped unasked where the list is this database's own: that of another app names numbers that
    /// mean nothing here, and of a dump that was restored elsewhere nobody can tell.
    func wordToType(_ seen: ReplaySurvey) -> String? {
        if !seen.repeatsNothing { return "\(seen.replay.steps.count)" }
        let isOwn = file.lives.allSatisfy { $0.database == seen.database.description }
        return isOwn ? nil : seen.skips.map { "\($0.upperBound)" }
    }

    /// How many of those to be asked for are under a legal hold; refuses words that name one.
    private func survey(_ replay: ErasureReplay, on connection: isolated Connection) throws -> Int {
        var held = 0
        for page in replay.steps.map(\.user).pages {
            try desk.refuseWords(reason, naming: page, on: connection)
            held += try desk.survey(page, on: connection).held
        }
        return held
    }

    /// Keeps the receipts of what is erased from here on from bearing the number of one that is lost.
    ///
    /// - Returns: The numbers that were skipped; nil where there were none.
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
        // First what takes back: an account may have asked again after it cancelled.
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
