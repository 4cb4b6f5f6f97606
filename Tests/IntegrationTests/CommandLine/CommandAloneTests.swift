import ArgumentParser
import Testing

@testable import accountctl

/// The program first parses the words after a command's name for this command alone, which is much faster.
@Suite("A command that is parsed alone", .timeLimit(.minutes(5)))
struct CommandAloneTests {
    private func alone(_ words: [String]) throws -> (any AccountctlCommand)? {
        let path = CommandPath(root: Accountctl.self, words: words)
        let type = try #require(path.last as? any AccountctlCommand.Type)
        return type.parsed(Array(words[path.wordCount...]))
    }

    private func ofTheTree(_ words: [String]) -> (any AccountctlCommand)? {
        (try? Accountctl.parseAsRoot(words)) as? any AccountctlCommand
    }

    @Test(
        "is the one that the whole tree makes of the words",
        arguments: [
            ["user", "suspend", "anna", "--for", "3d", "--reason", "spam", "--yes", "--json=id,outcome"],
            ["jobs", "retry", "--", "-1", "2"],
            ["jobs", "list", "--state", "parked", "--state=running", "--limit", "7"],
            ["deletion", "request", "anna", "--by", "email", "--confirm=a", "--dry-run", "--environment", "staging"],
            ["relay", "stream", "add", "news", "a.test", "--include", "b.test", "--include", "c.test"],
            ["migrate", "up", "--without-profiles", "--csv=all"], ["manual", "--into", "x"], ["config", "show"],
        ]
    )
    func taken(_ words: [String]) throws {
        let command = try #require(try alone(words))
        let same = try #require(ofTheTree(words))
        #expect(String(describing: command) == String(describing: same))
    }

    /// A word that is missing, one too many, an unknown option, a combination that the command or a group of its options
    /// refuses, and help.
    @Test(
        "is none where the whole tree makes none of the words",
        arguments: [
            ["user", "show"], ["deletion", "list", "x"], ["jobs", "list", "--limt", "3"],
            ["deletion", "list", "--state", "blocked", "--all"], ["config", "show", "--json=key", "--csv=key"],
            ["user", "show", "anna", "--help"],
        ]
    )
    func refused(_ words: [String]) throws {
        #expect(try alone(words) == nil)
        #expect(ofTheTree(words) == nil)
    }
}
