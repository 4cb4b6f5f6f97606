import AccountLifecycle
import ArgumentParser
import Postgres
import Terminal

/// Applies the new identities to the accounts.
struct AppleTransferApplyCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply",
        abstract: "Give every account the sub and relay address of the new team, one transaction each.",
        discussion: """
            From then on, the account is found by the new sub and no longer by the old one. Identities of other teams'
            apps stay. A conflict is left as it is: either the person signed in to the new team before and has a second
            account, or the account has several Apple identities and the sending team's is not known here. Each start
            looks at conflicts again. apple transfer status names the accounts, and user show describes each of them.

            If there are two accounts, erase the one that is not to stay. If one account has several identities
            (several_apple_identities), erase nothing: let the person unlink in the app the identity that is not to
            move; it can be linked again afterwards.

            EXIT CODES
              0 done, or nothing to apply, with a warning if users have no transfer identifier; 1 the database refuses to
              change an account, such as by a trigger; 3 nothing is known of a transfer to that team; 6 some are
              conflicts, which people must decide; 75 an account stays locked by another session, such as its deletion.
              After 1 and 75, start it again: the others are moved, unless more than twenty in a row could not be

            EXAMPLES
              accountctl apple transfer apply com.example.app --team ABCDE12345 --dry-run
              accountctl apple transfer apply com.example.app --team ABCDE12345 --dry-run --json movable,conflicts
              accountctl apple transfer apply com.example.app --team ABCDE12345 --confirm com.example.app
            """
    )

    static let outputFields = TransferSheet.applyFields

    /// The maximum number of accounts that are named because they could not be moved.
    private static let named = 100

    @OptionGroup
    var options: TransferOptions

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var confirm: ConfirmOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        try context.requireClientID(options)
        let transfer = options.transfer
        let signature = try context.signature(acting)
        return try await context.withDatabase { [confirm, options] pool in
            let books = TransferBooks(pool: pool, transfer: transfer)
            _ = try await context.begun(books, options)
            let foreseen = try await books.foresee()
            let due = foreseen.done + foreseen.conflicts
            guard due > 0 else {
                try context.output.show(TransferSheet.applying(foreseen, confirm.dryRun ? nil : foreseen))
                context.messages.note("There is nothing to apply.")
                return .ok
            }
            if confirm.dryRun {
                try context.output.show(TransferSheet.applying(foreseen, nil))
                context.messages.note("Would move \(Wording.count(foreseen.done, "account")).")
                return Self.end(foreseen, options, context)
            }
            try context.confirmIrreversible(
                "This changes the Apple identity of \(Wording.count(foreseen.done, "account"))"
                    + (foreseen.conflicts > 0 ? ", and leaves \(Wording.count(foreseen.conflicts, "conflict"))." : "."),
                id: options.clientID,
                confirm
            )
            // Recorded first: the run changes account after account, each in a transaction of its own.
            try await pool.withConnection {
                try signature.log("apple.transfer_apply", facts: options.facts(accounts: due), on: $0)
            }
            let progress = context.progress("New identities", total: due)
            let (run, unmoved) = try await books.apply { progress.update($0) }
            progress.finish(run.done + run.conflicts)
            try context.output.show(TransferSheet.applying(foreseen, run))
            let status = Self.end(run, options, context)
            guard let failure = Self.failure(of: unmoved, run) else { return status }
            // The statements may be those of another schema than the database has.
            let missing = unmoved.first { SchemaGap.tells($0.error) }
            if let missing, let gap = await SchemaGap(context: context).explanation(of: missing.error) { throw gap }
            throw failure
        }
    }

    /// The exit status for what was done, or would be in a dry run; warns of conflicts.
    private static func end(
        _ run: TeamTransfer.Run,
        _ options: TransferOptions,
        _ context: CommandContext
    ) -> ExitStatus {
        guard run.conflicts > 0 else { return .ok }
        context.messages.warning(
            Wording.count(run.conflicts, "conflict stays", "conflicts stay")
                + ": the person has a second account by now, or the account has several Apple identities; the conflicts so far "
                + "are listed by accountctl apple transfer status \(options.clientID) --team \(options.team)"
        )
        return .blocked
    }

    /// The error that names the accounts that could not be moved; nil if there are none.
    ///
    /// A refusal of the database decides its exit code before a lock does, since it does not go away by itself.
    private static func failure(of unmoved: [TransferBooks.Unmoved], _ run: TeamTransfer.Run) -> CommandError? {
        let reports = unmoved.map { (user: $0.user, report: $0.error.report) }
        let refusal = reports.first { $0.report.status != .temporary }
        guard let deciding = refusal ?? reports.first else { return nil }
        let stopped = run.stoppedBy.map { ", and the run stopped: \($0)" } ?? ""
        var lines = [Wording.count(reports.count, "account") + " could not be moved" + stopped]
        lines += reports.prefix(named).map { "\($0.user.text): \($0.report.message)" }
        if reports.count > named { lines.append("and \(reports.count - named) more") }
        return CommandError(deciding.report.status, lines.joined(separator: "\n"), hint: deciding.report.hint)
    }
}
