import ArgumentParser
import Testing

@testable import accountctl

@Suite("Plain words of user find")
struct PlainWordsTests {
    /// The command that the parser makes of the words, or nil if it refuses them.
    private func parsed(_ words: [String]) -> UserFindCommand? {
        try? Accountctl.parseAsRoot(["user", "find"] + words) as? UserFindCommand
    }

    @Test(
        "Are parsed as the argument parser parses them",
        arguments: [
            ["anna@example.com"],
            ["+49 151 123456", "--by", "phone"],
            ["--by=email", "a", "b", "c=d", "é"],
            ["--limit", "7", "--prefix", "anna", "--json=id,state"],
            ["--contains", "anna", "--by", "username", "--reveal", "--no-color", "--no-pager", "--no-input"],
            ["a", "--database-url", "host=x dbname=y", "--config=/etc/a=b", "--environment", "staging"],
            ["a", "--csv=all", "--log-level", "debug"], ["a", "--tsv=id"], ["a", "--format", "ndjson", "--json=id"],
        ]
    )
    func taken(_ words: [String]) throws {
        let plain = try #require(UserFindCommand.plain(words))
        let command = try #require(parsed(words))
        #expect(String(describing: plain) == String(describing: command))
    }

    @Test("Are parsed for every option of the command except those that say who acts and why")
    func everyOption() throws {
        let all = try CommandDescription.root().all
        let description = try #require(all.first { $0.path == ["accountctl", "user", "find"] })
        let left = ["--reason", "--as", "--ticket", "--help", "--version"]
        let values = ["by": "phone", "limit": "3", "format": "json", "json": "id", "csv": "id", "tsv": "id"]
        var count = 0
        for argument in description.arguments ?? [] where argument.kind != .positional {
            for name in (argument.names ?? []).map(\.text) where name.hasPrefix("--") && !left.contains(name) {
                let value = values[String(name.dropFirst(2))] ?? "a"
                let words = ["term", name] + (argument.kind == .option ? [value] : [])
                let plain = try #require(UserFindCommand.plain(words), "\(words)")
                #expect(String(describing: plain) == parsed(words).map { String(describing: $0) }, "\(words)")
                count += 1
            }
        }
        #expect(count == 16)
    }

    @Test(
        "Leave other forms and mistakes to the argument parser",
        arguments: [
            [], ["-"], ["a", "-h"], ["a", "--help"], ["a", "--"], ["--", "a"], ["a", ""], ["a", "--limit", "-1"],
            ["a", "--limit"], ["a", "--limit", "x"], ["a", "--limit="], ["a", "--limit", "0"], ["a", "--limt", "3"],
            ["a", "--by", "email", "--by", "phone"], ["a", "--prefix=yes"], ["a", "--prefix", "--contains"],
            ["a", "--terms", "b"], ["a", "--global"], ["a", "--database-u-r-l", "x"], ["a", "--databaseURL", "x"],
            ["a", "--Prefix"], ["a", "--no--color"], ["a", "--reason", "b"], ["a", "--json=id", "--csv=id"],
            ["a", "--format", "csv", "--json=id"],
        ]
    )
    func left(_ words: [String]) {
        #expect(UserFindCommand.plain(words) == nil)
    }

    @Test("The help of every command is the parser's own help message")
    func help() throws {
        for command in try CommandDescription.root().all {
            let words = Array(command.path.dropFirst())
            let path = CommandPath(root: Accountctl.self, words: words)
            do {
                var parsed = try Accountctl.parseAsRoot(words + ["--help"])
                try parsed.run()
                Issue.record("\(words): no help")
            } catch {
                #expect(Accountctl.fullMessage(for: error) == Accountctl.helpMessage(for: path.last), "\(words)")
            }
        }
    }
}
