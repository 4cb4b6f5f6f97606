import AccountLifecycle
import ArgumentParser
import Postgres
import Sealing
import Terminal

/// Gives up a sealing key that is lost for good.
struct AppleVaultForgetKeyCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget-key",
        abstract: "Give up a sealing key that is lost for good, and what is sealed with it.",
        discussion: """
            Credentials under the key are removed. Their grants stay valid at Apple, and when such an account is erased,
            the outcome at Apple is not_revoked unless the person has signed in again since. Revocations that wait under
            the key are given up. Deletions whose identifiers it sealed search only for the user id and for what the
            account shows at the next look, if it still exists; their receipts say so. The key's name has to be typed,
            or given with --confirm.

            A key that is in the file of keys.sealing_file is not given up: move what it seals with apple vault rotate.

            EXIT CODES
              0 given up; 3 nothing is sealed with such a key; 6 the key is in the file

            EXAMPLES
              accountctl apple vault forget-key 2025-01 --dry-run
              accountctl apple vault forget-key 2025-01 --confirm 2025-01 --reason "lost with the old host"
            """
    )

    @Argument(help: "The key's name, as apple vault status shows it.")
    var key: String

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var consent: ConfirmOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let actor = try context.actor(acting)
        let keys = try context.keyRing()
        return try await context.withDatabase { [key, consent, acting] pool in
            let use = try await CredentialVault(pool: pool, keys: keys).status().first { $0.key == key }
            guard let use, use.isNeeded || use.isAnother else {
                throw CommandError(
                    .notFound,
                    "nothing is sealed with a key \"\(SafeText.line(key))\"",
                    hint: "See which keys are in use: accountctl apple vault status"
                )
            }
            if use.isPresent, !use.isAnother {
                throw CommandError(
                    .blocked,
                    "key \"\(key)\" is in keys.sealing_file, and opens what it sealed",
                    hint: "Move it to the newest key: accountctl apple vault rotate"
                )
            }
            let words = Self.words(
                credentials: use.credentials,
                revocations: use.pendingRevocations,
                requests: use.deletionRequests
            )
            if consent.dryRun {
                context.messages.note("Would give up \(words).")
                return .ok
            }
            try consent.ask("Give up \(words), for good?", id: key, in: context)
            let losses = try await pool.withConnection { connection in
                try await ForgottenKey.forget(key, as: actor, reason: acting.reason, on: connection)
            }
            let done = Self.words(
                credentials: losses.credentials,
                revocations: losses.pendingRevocations,
                requests: losses.deletionRequests
            )
            context.messages.note("Gave up key \"\(key)\": \(done).")
            return .ok
        }
    }

    private static func words(credentials: Int, revocations: Int, requests: Int) -> String {
        [
            Wording.count(credentials, "credential"), Wording.count(revocations, "pending revocation"),
            "the identifiers of " + Wording.count(requests, "deletion request"),
        ].joined(separator: ", ")
    }
}
