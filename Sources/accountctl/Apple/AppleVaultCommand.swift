import AccountLifecycle
import ArgumentParser
import Postgres
import Sealing
import Terminal

/// The keys that credentials are sealed with.
struct AppleVaultCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vault",
        abstract: "Show the sealing keys in use, move credentials to the newest one, and give up a lost one.",
        discussion: """
            TO CHANGE THE KEY
              1. Append a line to the file of keys.sealing_file: accountctl keys new ID --output FILE --append. The last line seals.
              2. Restart the workers: they seal with the new key and open with both.
              3. accountctl apple vault rotate
              4. When vault status shows 0 for the old key in every column, its line may go.

            WHEN A KEY IS LOST
              Workers do not start without a key that something is sealed with. Look for a copy first. Where there is none,
              accountctl apple vault forget-key KEY gives up what nobody can open any more, and they start again.
            """,
        subcommands: [
            AppleVaultStatusCommand.self, AppleVaultRotateCommand.self, AppleVaultForgetKeyCommand.self,
        ]
    )
}

/// Shows which keys are in use.
struct AppleVaultStatusCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show which sealing keys are in use, missing, or not what they were.",
        discussion: """
            EXIT CODES
              0 all is well; 5 a key that is needed is missing, or is another than the one that sealed

            EXAMPLES
              accountctl apple vault status
            """
    )

    private static let fields: [Field<CredentialVault.KeyUse>] = [
        Field("key", "Key") { .text($0.key) },
        Field("state", "State", emphasis: { $0.isBroken ? .bad : $0.isNewest ? .good : .none }) { .text($0.state) },
        Field("credentials", "Credentials", alignment: .right) { .integer($0.credentials) },
        Field("pending_revocations", "Pending revocations", alignment: .right) { .integer($0.pendingRevocations) },
        Field("deletion_requests", "Deletion requests", alignment: .right) { .integer($0.deletionRequests) },
    ]

    static let outputFields = fields.map(\.name)

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let keys = try context.keyRing()
        let uses = try await context.withDatabase { pool in
            try await CredentialVault(pool: pool, keys: keys).status()
        }
        try context.output.list(uses, Self.fields)
        return uses.contains(where: \.isBroken) ? .residue : .ok
    }
}

/// Moves credentials to the newest key.
struct AppleVaultRotateCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Seal every credential anew with the newest key, while the workers run.",
        discussion: """
            May be stopped and started again at any time.

            EXIT CODES
              0 everything is under the newest key; 5 something could not be opened, or a key is not what it was

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
                    "key \"\(other.key)\" is another key than the one that sealed here under that name",
                    hint: "Give the right file; nothing was changed."
                )
            }
            let due = uses.filter { !$0.isNewest }.reduce(0) { $0 + $1.credentials + $1.pendingRevocations }
            if write.dryRun {
                context.messages.note("Would move \(due) to key \"\(keys.newestID)\".")
                return .ok
            }
            try await vault.recordKeys()
            let facts = ["key": keys.newestID.text, "credentials": "\(due)"]
            try await pool.withConnection { try signature.log("apple.rotate_vault", facts: facts, on: $0) }
            let rotation = try await vault.rotate()
            context.messages.note("Moved \(rotation.moved) to key \"\(keys.newestID)\".")
            guard rotation.failed > 0 else { return .ok }
            context.messages.warning(
                "\(rotation.failed) could not be opened: accountctl apple vault status names the keys."
            )
            return .residue
        }
    }
}

extension CredentialVault.KeyUse {
    fileprivate var isBroken: Bool { isAnother || (!isPresent && isNeeded) }

    fileprivate var state: String {
        if isAnother { return "another_key" }
        if !isPresent { return "missing" }
        if isNewest { return "sealing" }
        return isNeeded ? "in_use" : "unused"
    }
}
