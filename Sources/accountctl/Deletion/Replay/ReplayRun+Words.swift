import AccountLifecycle
import Terminal

/// The messages and the question for the operator.
extension ReplayRun {
    /// Warns of problems with the list itself.
    func tellOfList(_ seen: ReplaySurvey) {
        if file.lives.contains(seen.life) {
            context.messages.warning(
                "the list, or a part of it, was written by this database as it is now: after a restore, only lists from before it show "
                    + "what was lost"
            )
        }
        if !file.isWhole {
            context.messages.warning(
                "the list, or a part of it, has fewer or more lines than were written: what is missing is not repeated"
            )
        }
        if !file.isSealed {
            context.messages.warning(
                "the list, or a part of it, has no seal that this hash key can check: somebody may have changed it"
            )
        }
        let databases = Set(file.lives.map(\.database))
        if databases != [seen.database.description] {
            context.messages.warning(
                "the list is of the database \(Wording.list(databases.sorted().map { SafeText.line($0) })), and this is "
                    + "\(seen.database): either a dump was restored elsewhere, or the list is that of another app"
            )
        }
    }

    /// Tells the operator what to know before the replay begins.
    func tellBefore(_ seen: ReplaySurvey) {
        context.messages.note(
            "legal holds placed since the backup are lost, and the list names only those that a deletion waited for: "
                + "place them again"
        )
        if seen.isWorked, !seen.isPaused {
            context.messages.warning(
                "deletions are not paused and a worker is alive, which may carry out what was cancelled since the backup; "
                    + "stop it, or: accountctl deletion pause --all"
            )
        }
        let stuck = seen.replay.stuck
        if stuck > 0 {
            context.messages.warning(
                Wording.count(stuck, "account that was erased before waits", "accounts that were erased before wait")
                    + " here until a pause or a legal hold ends; see: accountctl deletion list"
            )
        }
    }

    /// Tells the operator what is left to do after the replay.
    func tellAfter(_ seen: ReplaySurvey) {
        if seen.isPaused {
            context.messages.note("every deletion is paused; resume with: accountctl deletion resume --all")
        }
        let stopped = seen.replay.stopped
        if stopped > 0 {
            context.messages.note(
                Wording.count(stopped, "request that somebody had stopped is", "requests that somebody had stopped are")
                    + " paused; see: accountctl deletion list --paused"
            )
        }
    }

    /// The confirmation question.
    func question(_ seen: ReplaySurvey) -> String {
        if seen.repeatsNothing, let skips = seen.skips {
            return "Skip the receipt numbers from \(skips.lowerBound) to \(skips.upperBound) for good, "
                + "for a list that another database has written?"
        }
        let counts = ErasureReplay.Act.allCases.map { (act: $0, count: seen.replay.steps($0).count) }
            .filter { $0.count > 0 }
        var facts = counts.map { "\($0.count) to \($0.act.rawValue)" }
        if seen.held > 0 { facts.append("\(seen.held) under legal hold") }
        return "Repeat the list of erasures, which deletes accounts for good? (\(facts.joined(separator: ", ")))"
    }

    /// The output: what is planned or was done, with the receipt numbers that are skipped.
    func sheet(
        _ seen: ReplaySurvey,
        _ outcome: ActOutcome,
        skipped: ClosedRange<Int64>?,
        _ done: Done? = nil
    ) -> Sheet {
        let replay = seen.replay
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
                .held: .integer(seen.held),
                .refused: .integer(done?.refused),
                .skipFrom: .integer(skipped?.lowerBound),
                .skipTo: .integer(skipped?.upperBound),
                .confirm: .text(outcome == .wouldBeDone ? wordToType(seen).map { "--confirm=\($0)" } : nil),
            ],
            steps: replay.steps
        )
    }
}
