import ArgumentParser

/// Groups the commands about the schema: what is applied, what would be, and whether it is unchanged since.
struct MigrateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Install and check the database schema.",
        discussion: """
            Needs a direct connection, or a pooler in session mode: on Supabase port 5432, not 6543.

            EXAMPLES
              accountctl migrate plan                     what would change, and which locks that takes
              accountctl migrate up                       apply what is missing
              accountctl migrate up --without-profiles    deletion alone, on the tables the app has
              accountctl migrate status                   what is applied
              accountctl migrate verify                   is everything still as it was made?
            """,
        subcommands: [
            MigrateUpCommand.self, MigratePlanCommand.self, MigrateStatusCommand.self, MigrateVerifyCommand.self,
        ]
    )
}
