import ArgumentParser

/// Groups the commands about avatars in Storage.
struct AvatarsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "avatars",
        abstract: "Manage the avatars in Storage.",
        discussion: """
            EXAMPLES
              accountctl avatars sweep                     what was left behind
              accountctl avatars sweep --confirm=1200
            """,
        subcommands: [AvatarsSweepCommand.self]
    )
}
