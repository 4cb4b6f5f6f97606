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
    private struct Done {
        var counts: [ErasureReplay.Act: Int] = [:]
        var refused = 0

        /// What came of it as a whole.
        var outcome: ActOutcome { refused > 0 && refused == all ? .refused : .done }

        var all: Int { counts.values.reduce(0, +) + refused }
    }

    private var desk: DeletionDesk { DeletionDesk(actor) }
    private var reason: String { ErasureReplay.reason(ownReason) }

    func run() async throws -> ExitStatus {
        let (list, key) = (file.list, actor.hashKey)
        let (database, life, replay, held, isPaused, isWorked) = try await pool.withConnection { connection in
            let replay = try ErasureReplay.plan(list, key: key, on: connection)
            let identity = try DatabaseIdentity.read(on: connection)
            return (
                identity,
                try DatabaseLife(of: identity, on: connection),
                replay,
                try survey(replay, on: connection),
                try DeletionDesk.generalBrake(on: connection).paused != nil,
                try JobQueue().workers(on: connection).contains { $0.status == .alive && !$0.kinds.isEmpty }
            )
        }
        tellOfList(database, life)
        tellBefore(replay, besideWorker: isWorked && !isPaused)
        // Nobody is asked where nothing is to be repeated: then the list has to be this database's own.
        let isOwn = file.lives.allSatisfy { $0.database == database.description }
        if replay.steps.isEmpty, !confirmation.dryRun, isOwn { try await skipReceipts() }
        if confirmation.dryRun || replay.steps.isEmpty {
            let outcome: ActOutcome = replay.steps.isEmpty ? .unchanged : .wouldBeDone
            try context.output.show(sheet(replay, held, outcome))
            return .ok
        }
        if isWorked, !isPaused, !yes {
            var options = WriteOptions()
            (options.dryRun, options.yes) = (false, false)
            try context.confirm("Go on beside a live worker?", options)
        }
        try context.confirmIrreversible(question(replay, held), id: "\(replay.steps.count)", confirmation)
        try await skipReceipts()
        let done = try await work(replay.steps)
        try context.output.show(sheet(replay, held, done.outcome, done))
        tellAfter(replay, isPaused: isPaused)
        if done.refused > 0 {
            throw CommandError(
                .blocked,
                "\(Wording.count(done.refused, "request")) could not be cancelled or paused: the warnings say why"
            )
        }
        return .ok
    }

    /// What an operator has to know before it begins.
    private func tellBefore(_ replay: ErasureReplay, besideWorker: Bool) {
        context.messages.note(
            "legal holds placed since the backup are lost, and the list names them where a deletion waited for one only: place them again"
        )
        if besideWorker {
            context.messages.warning(
                "deletions are not paused and a worker is alive, which may carry out what was cancelled since the backup; "
                    + "stop it, or: accountctl deletion pause --all"
            )
        }
        if replay.stuck > 0 {
            context.messages.warning(
                "\(Wording.count(replay.stuck, "account")) that \(replay.stuck == 1 ? "was" : "were") erased before "
                    + "\(replay.stuck == 1 ? "waits" : "wait") here for the end of a pause or of a legal hold; see: accountctl deletion list"
            )
        }
    }

    /// What is still to be done once it has ended.
    private func tellAfter(_ replay: ErasureReplay, isPaused: Bool) {
        if isPaused { context.messages.note("every deletion is paused; go on with: accountctl deletion resume --all") }
        if replay.stopped > 0 {
            context.messages.note(
                "\(Wording.count(replay.stopped, "request")) that somebody had stopped \(replay.stopped == 1 ? "is" : "are") paused; "
                    + "see: accountctl deletion list --paused"
            )
        }
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

    private func tellOfList(_ database: DatabaseIdentity, _ life: DatabaseLife) {
        if file.lives.contains(life) {
            context.messages.warning(
                "the list, or a part of it, was written by this database as it stands: after a restore only lists from before it tell "
                    + "what was lost"
            )
        }
        if !file.isWhole {
            context.messages.warning("the list was cut off: what stood behind its last line is not repeated")
        }
        let databases = Set(file.lives.map(\.database))
        if databases != [database.description] {
            context.messages.warning(
                "the list is of the database \(Wording.list(databases.sorted().map { SafeText.line($0) })), and this is "
                    + "\(database): as after a dump that was restored elsewhere, or the list of another app"
            )
        }
    }

    // MARK: - Working

    /// Keeps the receipts of what is erased from here on from bearing the number of one that is lost.
    private func skipReceipts() async throws {
        guard let last = file.list.lastReceipt else { return }
        let isBehind = try await pool.withConnection { connection in
            try await DeletionDesk.skipReceipts(upTo: last, on: connection)
        }
        if isBehind {
            context.messages.note("the next receipt gets a number above \(last), the last one that the list names")
        }
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

    // MARK: - Words

    private func question(_ replay: ErasureReplay, _ held: Int) -> String {
        let counts = ErasureReplay.Act.allCases.map { (act: $0, count: replay.steps($0).count) }.filter { $0.count > 0 }
        var facts = counts.map { "\($0.count) to \($0.act.rawValue)" }
        if held > 0 { facts.append("\(held) under legal hold") }
        return "Repeat the list of erasures, which deletes accounts for good? (\(facts.joined(separator: ", ")))"
    }

    private func sheet(_ replay: ErasureReplay, _ held: Int, _ outcome: ActOutcome, _ done: Done? = nil) -> Sheet {
        func count(_ act: ErasureReplay.Act) -> OutputValue {
            .integer(done.map { $0.counts[act, default: 0] } ?? replay.steps(act).count)
        }
        return DeletionReplaySheet.of(
            [
                .outcome: .text(outcome.rawValue),
                .listed: .integer(file.list.count),
                .listedAt: .date(file.list.moment),
                .accounts: .integer(replay.accounts),
                .erase: count(.erase),
                .reopen: count(.reopen),
                .cancel: count(.cancel),
                .pause: count(.pause),
                .open: .integer(replay.open),
                .stuck: .integer(replay.stuck),
                .decided: .integer(replay.decided),
                .others: .integer(replay.others),
                .held: .integer(held),
                .refused: .integer(done?.refused),
                .confirm: outcome == .wouldBeDone ? .text("--confirm=\(replay.steps.count)") : .null,
            ],
            steps: replay.steps
        )
    }
}
