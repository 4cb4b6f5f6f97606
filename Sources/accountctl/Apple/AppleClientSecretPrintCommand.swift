import ArgumentParser
import Sealing
import Settings
import SignInWithApple
import Terminal

/// Prints a new client secret.
struct AppleClientSecretPrintCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "print",
        abstract: "Print a new client secret, good for six months.",
        discussion: """
            For the field "Secret Key (for OAuth)" of the provider Apple in Supabase's settings. The output is a secret.

            EXAMPLES
              accountctl apple client-secret print com.example.web
            """
    )

    @Argument(help: "The client id: the Services ID of the web sign-in.")
    var clientID: String

    @Option(name: .long, help: ArgumentHelp("How many days it lives, at most 182.", valueName: "days"))
    var days = 180

    @OptionGroup
    var global: GlobalOptions

    mutating func validate() throws {
        if !(1...182).contains(days) {
            throw ValidationError("--days must be from 1 to 182: Apple takes no longer life")
        }
    }

    func run(in context: CommandContext) async throws -> ExitStatus {
        let identity = try context.appleIdentity(of: clientID, context.settingsForApple().apple)
        let now = context.now()
        let secret = try ClientSecret.mint(for: identity, now: now, lifetime: .seconds(days * 86_400))
        try context.output.document(secret.reveal() + "\n")
        return .ok
    }
}
