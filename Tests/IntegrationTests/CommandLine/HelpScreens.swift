@testable import accountctl

/// The screens of `--help` of all commands.
enum HelpScreens {
    /// The screen of the command that the words after the program's name name; nil if there is none.
    static func screen(of words: [String]) throws -> String? { try all.get()[words] }

    /// Written once: the parser takes long for each in a debug build, and several tests read them all.
    private static let all: Result<[[String]: String], any Error> = Result {
        try CommandDescription.root().all.reduce(into: [:]) { screens, command in
            let words = Array(command.path.dropFirst())
            screens[words] = Launch(arguments: words + ["--help"], environment: [:]).plainAnswer
        }
    }
}
