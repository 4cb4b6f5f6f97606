import ArgumentParser

/// The sandbox as a program: a server, and the helpers of the demo that talk to it.
@main
struct Main: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "accountctl-sandbox",
        abstract: "A local stand-in for Sign in with Apple's server side and for Supabase Storage.",
        discussion: """
            For development, demonstrations and tests. All keys are made at run time and end with the program.
            """,
        subcommands: [ServeCommand.self, ControlCommand.self, PopulateCommand.self, RequestDeletionsCommand.self],
        defaultSubcommand: ServeCommand.self
    )
}
