import AccountLifecycle
import ArgumentParser
import Postgres
import Terminal

/// Repeats the erasures that a restored backup has lost.
struct DeletionReplayCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Repeat the erasures that a restored backup has undone, from the list of deletion export.",
        discussion: """
            Use this on a database that was restored from a backup, before a worker starts. Accounts that were erased
            since the backup are requested again, without a grace period. Requests that were open are opened again with
            their times. Requests that were cancelled since are cancelled. Requests that were paused, or under a legal
            hold that may be lost, are paused: look at them, then resume them. A pause of every deletion stays, and so
            do legal holds. The operators' log has a line for each. Numbers of receipts in the list are given to no
            other erasure: those from skip_from to skip_to are skipped, even if nothing is to be repeated.

            You can give several lists one after the other, such as from cat; the newest line of a request counts. A bad
            line is reported with its number, and nothing is done. The same applies to a list that was changed since it
            was written, as its seal shows, or that has no seal the key can check, such as a truncated one; --unsealed
            accepts that one. Repeating the command changes nothing more: what somebody has decided since stays.

            The total number of changes has to be typed, or given with --confirm. If deletions are not paused and a
            worker is alive, the command asks about that first. Numbers alone are skipped without a question for a list
            of this database. For a list of another, as after a dump restored elsewhere, the last number has to be
            typed.

            EXIT CODES
              0 done, or nothing to do; 2 a bad line, a line of another hash key, or declined; 5 not the hash key that
              wrote the list, or a list that was changed since or has no seal; 6 what was cancelled or stopped has begun
              here; 75 the database went away: the same command continues

            EXAMPLES
              accountctl deletion replay erasures.ndjson --dry-run
              accountctl deletion replay erasures.ndjson --reason "restore of the 20th" --ticket 4711
              accountctl deletion replay erasures.ndjson --dry-run --format ndjson --json erase,reopen,cancel,pause
            """
    )

    static let outputFields = DeletionReplaySheet.outputFields

    @Argument(help: "The list that deletion export wrote; - reads standard input.", completion: .file())
    var file: String

    @Flag(
        name: .long,
        help:
            "Leave out requests hashed with other keys than the one in keys.hash_file; replay again with each of those."
    )
    var skipOtherKeys = false

    @Flag(
        name: .long,
        help: "Accept a list without a seal that the hash key can check, though somebody may have changed it."
    )
    var unsealed = false

    @Flag(name: [.customShort("y"), .long], help: "Continue although deletions are not paused and a worker is alive.")
    var yes = false

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var confirmation: ConfirmOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let actor = try context.actor(acting)
        let file = try ErasureListFile(
            path: file,
            key: actor.hashKey,
            skipsOtherKeys: skipOtherKeys,
            takesUnsealed: unsealed
        )
        return try await context.withDatabase { pool in
            try await ReplayRun(
                context: context,
                pool: pool,
                file: file,
                actor: actor,
                ownReason: acting.reason,
                confirmation: confirmation,
                yes: yes
            )
            .run()
        }
    }
}
