import ArgumentParser
import Sealing
import Settings
import SignInWithApple
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Inspects a client secret.
struct AppleClientSecretInspectCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect",
        abstract: "Show which client a client secret is for, when it expires, and what Apple would reject.",
        discussion: """
            Reads a file, or standard input for -; never an argument, which other users of the machine could read.

            EXIT CODES
              0 valid for 30 days or more; 1 expires within 30 days; 5 Apple would reject it; 2 it is not a client
              secret

            EXAMPLES
              accountctl apple client-secret inspect secret.txt
              pbpaste | accountctl apple client-secret inspect -
            """
    )

    static let outputFields = ["client_id", "team_id", "key_id", "issued_at", "expires_at", "days_left", "problems"]

    @Argument(help: ArgumentHelp("A file, or - for standard input.", valueName: "file"), completion: .file())
    var file: String

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let text: Secret<String>
        do {
            text = try SecretFile.readText(file)
        } catch {
            throw CommandError(.usage, "\(error)")
        }
        let now = context.now()
        switch StaticClientSecret.inspect(text, now: now) {
        case .notASecret: throw CommandError(.usage, "this is not a client secret, which is a JWT (eyJ...)")
        case .privateKey:
            throw CommandError(
                .residue,
                "this is the .p8 key itself, not a client secret",
                hint: "If it was stored in a form field, revoke it at Apple and make a new one; then: "
                    + "accountctl apple client-secret print"
            )
        case .clientSecret(let secret): return try show(secret, now: now, in: context)
        }
    }

    private func show(_ secret: StaticClientSecret, now: Date, in context: CommandContext) throws -> ExitStatus {
        let daysLeft = secret.daysLeft(at: now)
        let isEnding = daysLeft.map { $0 < StaticClientSecret.warningDays } ?? true
        try context.output.show(
            Sheet([
                .init(
                    .facts([
                        .init("client_id", "Client id", .text(secret.clientID)),
                        .init("team_id", "Team", .text(secret.teamID)),
                        .init("key_id", "Key", .text(secret.keyID)),
                        .init("issued_at", "Issued", .date(secret.issuedAt)),
                        .init("expires_at", "Expires", .date(secret.expiresAt), isEnding ? .bad : .none),
                        .init("days_left", "Days left", .integer(daysLeft), isEnding ? .bad : .none),
                    ])
                ),
                .init("problems", title: "Apple would reject it", .notes(secret.problems.map(\.description), .bad)),
            ])
        )
        if !secret.problems.isEmpty { return .residue }
        return isEnding ? .failure : .ok
    }
}
