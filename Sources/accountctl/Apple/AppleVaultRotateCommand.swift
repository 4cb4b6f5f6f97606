import AccountLifecycle
import ArgumentParser
import Postgres
import Sealing
import Terminal

/// Seals the credentials again with the newest key.
struct AppleVaultRotateCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Seal every credential again with the newest key, while the workers run.",
        discussion: """
            You can stop and restart it at any time.

            EXIT CODES
              0 everything is under the newest key; 5 something could not be opened, or a key has changed

            EXAMPLES
              accountctl apple vault rotate
              accountctl apple vault rotate --dry-run
            """
    )

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var write: WriteOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let keys = try context.keyRing()
        let signature = try context.signature(acting)
        return try await context.withDatabase { [write] pool in
            let vault = CredentialVault(pool: pool, keys: keys)
            let uses = try await vault.status()
            if let other = uses.first(where: \.isAnother) {
                throw CommandError(
                    .residue,
                    "key \"\(other.key)\" is not the key that sealed here under that name",
                    hint: "Name the right file; nothing was changed."
                )
            }
            let older = uses.filter { !$0.isNewest }
            let credentials = older.reduce(0) { $0 + $1.credentials }
            let revocations = older.reduce(0) { $0 + $1.pendingRevocations }
            if write.dryRun {
                let due = Self.told(credentials, revocations)
                context.messages.note("Would move \(due) to key \"\(keys.newestID)\".")
                return .ok
            }
            try await vault.recordKeys()
            let facts = [
                "key": keys.newestID.text, "credentials": "\(credentials)", "pending_revocations": "\(revocations)",
            ]
            try await pool.withConnection { try signature.log("apple.rotate_vault", facts: facts, on: $0) }
            let progress = context.progress("Moving", total: credentials + revocations)
            let rotation = try await vault.rotate { progress.update($0.done) }
            progress.finish(rotation.done)
            let moved = Self.told(rotation.credentials, rotation.pendingRevocations)
            context.messages.note(
                "Moved \(moved) to key \"\(keys.newestID)\". "
                    + "accountctl apple vault status shows which keys are still needed."
            )
            guard rotation.failed > 0 else { return .ok }
            context.messages.warning("\(Wording.count(rotation.failed, "credential")) could not be opened")
            return .residue
        }
    }

    /// What was moved, as apple vault status counts it.
    private static func told(_ credentials: Int, _ revocations: Int) -> String {
        let held = Wording.count(credentials, "credential")
        return revocations == 0 ? held : held + " and " + Wording.count(revocations, "pending revocation")
    }
}
