import ArgumentParser

/// Groups the commands about accounts, which are found by any term that names them.
struct UserCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user",
        abstract: "Find accounts, understand their state, act on them.",
        discussion: """
            EXAMPLES
              accountctl user find anna@example.com
              accountctl user find 8D3C2A1E-5B7F-4C9D-8E21-0A9B8C7D6E5F
              accountctl user show anna@example.com
            """,
        subcommands: [
            UserFindCommand.self, UserShowCommand.self, UserListCommand.self, UserSignOutCommand.self,
            UserSuspendCommand.self,
            UserRestoreCommand.self, UserHoldCommand.self, UserReleaseCommand.self, UserExportCommand.self,
            UserWatchCommand.self,
        ],
        aliases: ["users"]
    )
}
