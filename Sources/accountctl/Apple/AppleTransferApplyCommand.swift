import AccountLifecycle
import ArgumentParser
import Postgres
import Terminal

/// Gives the accounts their new identities.
struct AppleTransferApplyCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply",
        abstract: "Give every account the sub and relay address of the new team, one transaction each.",
        discussion: """
            From then on the account is found by the new sub, and by the old one no more. Identities of other teams' apps stay. A
            conflict is left as it is: the person signed in to the new team before and has a second account, or the account has
            several Apple identities and the sending team's is not known here. Each start looks at conflicts again.

            EXIT CODES
              0 done; 6 some are conflicts, which people must decide

            EXAMPLES
              accountctl apple transfer apply com.example.app --team ABCDE12345 --dry-run
              accountctl apple transfer apply com.example.app --team ABCDE12345 --confirm com.example.app
            """
    )

    @OptionGroup
    var options: TransferOptions

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var confirm: ConfirmOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let transfer = options.transfer
        let signature = try context.signature(acting)
        return try await context.withDatabase { [confirm, options] pool in
            let books = TransferBooks(pool: pool, transfer: transfer)
            let status = try await books.status()
            let due = status.exchanged + status.conflict
            if confirm.dryRun {
                context.messages.note("Would change the Apple identity of \(due) accounts.")
                return .ok
            }
            guard due > 0 else {
                context.messages.note("There is nothing to apply.")
                return .ok
            }
            try context.confirmIrreversible(
                "This changes the Apple identity of \(due) accounts.",
                id: options.clientID,
                confirm
            )
            // Before it: it changes account after account, each in a transaction of its own.
            try await pool.withConnection {
                try signature.log("apple.transfer_apply", facts: options.facts(accounts: due), on: $0)
            }
            let progress = context.progress("New identities", total: due)
            let run = try await books.apply { progress.update($0) }
            progress.finish(run.done + run.conflicts)
            context.messages.note("Moved \(run.done).")
            guard run.conflicts > 0 else { return .ok }
            context.messages.warning(
                "\(run.conflicts) have a second account by now, or several Apple identities, and were left as they are"
            )
            return .blocked
        }
    }
}
