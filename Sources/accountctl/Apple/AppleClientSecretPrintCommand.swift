import ArgumentParser
import Sealing
import Settings
import SignInWithApple
import Terminal

/// Prints a new client secret.
struct AppleClientSecretPrintCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "print",
        abstract: "Print a new client secret, valid for 180 days unless --life says otherwise.",
        discussion: """
            Put it into the field "Secret Key (for OAuth)" of the provider Apple in Supabase's settings. The output is a
            secret.

            EXAMPLES
              accountctl apple client-secret print com.example.web
              accountctl apple client-secret print com.example.web --life 30d
            """
    )

    @Argument(help: "The client id: the Services ID of the web sign-in.")
    var clientID: String

    @OptionGroup
    var life: SecretLifeOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let identity = try context.appleIdentity(of: clientID, context.settingsForApple().apple)
        let (now, days) = (context.now(), try life.inDays())
        let secret = try ClientSecret.mint(for: identity, now: now, lifetime: .seconds(days * 86_400))
        try context.output.document(secret.reveal() + "\n")
        return .ok
    }
}
