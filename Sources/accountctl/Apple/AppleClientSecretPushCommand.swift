import AccountLifecycle
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

/// Puts a new client secret into the project's settings.
struct AppleClientSecretPushCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "push",
        abstract: "Put a new client secret into the Supabase project's settings.",
        discussion: """
            Creates a secret for the client id of web sign-in, which is the first in the project's list, and replaces
            the one that the project has. Needs supabase.project and supabase.access_token_file.

            The file of --copy keeps its owner, group and mode, whoever runs this. If that is not allowed, nothing is
            changed.

            EXIT CODES
              0 replaced; 4 the token may not do this; 6 the project signs in with another client id, or not with Apple
              at all; 75 the management API cannot be reached now

            EXAMPLES
              accountctl apple client-secret push com.example.web --dry-run
              accountctl apple client-secret push com.example.web --copy /etc/accountctl/web.secret
            """
    )

    @Argument(help: "The client id: the Services ID of the web sign-in.")
    var clientID: String

    @OptionGroup
    var life: SecretLifeOptions

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Also write it to this file: the copy that apple.web_client_secret_file names.",
            valueName: "file"
        ),
        completion: .file()
    )
    var copy: String?

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var confirm: ConfirmOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let settings = try context.settingsForProject()
        let identity = try context.appleIdentity(of: clientID, settings.apple)
        return try await context.withProject(settings) { project in
            try await push(identity, to: project, context)
        }
    }

    private func push(
        _ identity: AppleClientIdentity,
        to project: ProjectAuthSettings,
        _ context: CommandContext
    ) async throws -> ExitStatus {
        let days = try life.inDays()
        let copy = try copy.map { path throws(CommandError) in try SecretCopy(path: path) }
        let provider = try value(of: try await project.provider(), project)
        guard provider.isOn else {
            throw CommandError(.blocked, "Sign in with Apple is switched off in project \(project.project)")
        }
        guard provider.webClientID == clientID else {
            throw CommandError(
                .blocked,
                "project \(project.project) signs in on the web as \(provider.webClientID ?? "nobody"), not as \(clientID)",
                hint: "Make the Services ID the first of the project's client ids, or push for that one."
            )
        }
        if confirm.dryRun {
            context.messages.note(
                "Would replace the client secret of \(clientID) in project \(project.project) by one for \(days) days."
            )
            return .ok
        }
        try confirm.ask(
            "This replaces the client secret of web sign-in in project \(project.project).",
            id: project.project,
            in: context
        )
        // Recorded first: a change that cannot be recorded is not made, and an entry for a run that then fails does no
        // harm.
        let signature = try context.signature(acting)
        let facts = ["project": project.project, "client_id": clientID]
        try await context.withConnection { try signature.log("apple.push_client_secret", facts: facts, on: $0) }
        let secret = try ClientSecret.mint(for: identity, now: context.now(), lifetime: .seconds(days * 86_400))
        // The copy is written beside its file first: if that fails, the secret is not replaced, so that none is in use
        // without its copy; if the replacement fails, the copy is discarded.
        try copy?.prepare(secret)
        do {
            _ = try value(of: try await project.replaceSecret(secret), project)
        } catch {
            copy?.discard()
            throw error
        }
        try copy?.publish()
        if let path = self.copy, copy?.isNew == true {
            context.messages.note(
                "\(path) is a new file that only \(MachineUser.name) can read: make sure that the worker's user can, "
                    + "too."
            )
        }
        context.messages.note("Replaced; valid for \(days) days.")
        return .ok
    }

    private func value<Value>(of outcome: ProjectAuthSettings.Outcome<Value>, _ project: ProjectAuthSettings) throws
        -> Value
    {
        switch outcome {
        case .done(let value): return value
        case .notAllowed(let status):
            throw CommandError(
                .notAuthorised,
                "the management API denies this token access to project \(project.project) (HTTP \(status))",
                hint: "Compare supabase.project and the token's owner and scopes."
            )
        case .refused(let status): throw CommandError(.failure, "the management API refuses this (HTTP \(status))")
        case .later(let reason): throw CommandError(.temporary, "the management API cannot be asked now: \(reason)")
        }
    }
}
