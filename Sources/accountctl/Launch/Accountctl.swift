import ArgumentParser

/// The root of the command tree.
struct Accountctl: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "accountctl",
        abstract: "Delete, look up and manage the accounts of an app on Supabase with Sign in with Apple.",
        discussion: """
            EXAMPLES
              accountctl doctor                          is this deployment sound?
              accountctl migrate up                      apply the schema
              accountctl worker                          carry out the work that is due
              accountctl user find anna@example.com      who is this, and what state is the account in?

            EXIT CODES
            \(ExitStatus.table)
            """,
        version: Version.text,
        groupedSubcommands: [
            CommandGroup(name: "Set-up and running", subcommands: CommandList.running),
            CommandGroup(name: "Accounts", subcommands: CommandList.accounts),
            CommandGroup(name: "Help", subcommands: CommandList.help),
        ]
    )
}
