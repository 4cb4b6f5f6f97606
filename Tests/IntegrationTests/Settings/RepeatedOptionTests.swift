import ArgumentParser
import Testing

@testable import accountctl

@Suite("An option that is given twice", .timeLimit(.minutes(5)))
struct RepeatedOptionTests {
    @Test("is refused if it takes one value, in every command and however it is spelt")
    func everyCommand() throws {
        var count = (single: 0, several: 0)
        for description in try CommandDescription.root().all where description.children.isEmpty {
            let path = Array(description.path.dropFirst())
            // Once per command: the parser takes a tenth of a second for them in a debug build.
            let own = try CommandDescription.arguments(of: CommandPath(root: Accountctl.self, words: path).last)
            for option in description.arguments ?? [] where option.kind == .option {
                let names = (option.names ?? []).map(\.text)
                for (index, name) in names.enumerated() {
                    let other = names[(index + 1) % names.count]
                    let words = path + (index == 0 ? [name, "a", "b", "\(other)=a"] : ["\(name)=-1", other, "a"])
                    let found = RepeatedOption.name(in: words, among: own)
                    #expect(found == (option.isRepeating ? nil : option.preferredName?.text), "\(words)")
                    let behind = RepeatedOption.name(in: path + [name, "a", "--", name], among: own)
                    #expect(behind == nil, "\(words)")
                }
                // The help says which options may be repeated.
                let isToldSo = option.abstract?.contains("be repeated") == true
                #expect(isToldSo == option.isRepeating, "\(path) \(names)")
                if option.isRepeating { count.several += 1 } else { count.single += 1 }
            }
        }
        #expect(count.single > 600 && count.several > 15, "\(count)")
    }

    @Test("is recognised by its dash, since no option takes a word that begins with a dash as its value")
    func dashes() {
        let strategies = Accountctl._dumpHelp().matches(of: #/"parsingStrategy"\s*:\s*"(\w+)"/#).map { String($0.1) }
        #expect(Set(strategies) == ["default"])
    }

    @Test(
        "is reported by its name",
        arguments: [
            (["deletion", "request", "anna@example.com", "--confirm", "a", "--confirm=b"], "--confirm"),
            (["deletion", "request", "anna@example.com", "--reason", "a", "--by", "email", "--by=id"], "--by"),
            (["user", "suspend", "anna", "--until", "2030-01-01", "--until", "2031-01-01"], "--until"),
            (["user", "find", "anna", "--by", "email", "--by", "phone"], "--by"),
            (["audit", "list", "--user", "anna", "--user=ben"], "--user"),
            (["jobs", "list", "--limit", "5", "--queue", "mail", "--limit", "6"], "--limit"),
            (["jobs", "snooze", "1", "--for", "-5m", "--for", "5m"], "--for"),
            (["jobs", "list", "--json", "id", "--json", "state"], "--json"),
            (["--config", "a", "config", "show", "--config", "b"], "--config"),
            (["keys", "new", "k", "-o", "a", "--output", "b"], "--output"),
        ]
    )
    func told(_ words: [String], _ name: String) throws {
        let mistake = try #require(CommandLineMistake(words))
        #expect(mistake.status == 2)
        let said = "error: \(name) is given more than once, but takes only one value\nSee: accountctl "
        #expect(mistake.errors.contains(said), "\(mistake)")
    }

    @Test(
        "is accepted if it takes several values, is a flag, or is a word that is no option",
        arguments: [
            ["jobs", "list", "--state", "parked", "--state", "running", "--queue", "a", "--queue=b", "--kind", "c"],
            ["jobs", "watch", "--kind", "a", "--kind", "b"], ["jobs", "list", "--json", "--json"],
            ["jobs", "cancel", "1", "-y", "--yes", "-n", "-n", "--dry-run"],
            ["user", "find", "--", "--by", "--by"], ["user", "find", "--reason", "why --ticket", "--ticket", "1", "a"],
        ]
    )
    func taken(_ words: [String]) throws {
        let command = try Launch.command(CommandWords.normalised(words, root: Accountctl.self))
        let name = command.map { type(of: $0)._commandName }
        #expect(name == words[1])
    }

    @Test("is refused by the program, which does nothing")
    func refused() async throws {
        let result = try await AccountctlProcess.run("user", "find", "anna", "--by", "email", "--by", "phone")
        #expect(result.status == 2 && result.output.isEmpty, "\(result)")
        #expect(result.errors.contains("error: --by is given more than once, but takes only one value"), "\(result)")
    }

    @Test("is reported only after help and other mistakes")
    func others() async throws {
        let help = try await AccountctlProcess.run("jobs", "list", "--limit", "5", "--limit", "6", "--help")
        #expect(help.status == 0 && help.output.contains("USAGE: accountctl jobs list"), "\(help)")
        let unknown = try await AccountctlProcess.run("jobs", "list", "--limit", "5", "--limit", "6", "--limt", "7")
        #expect(unknown.status == 2 && unknown.errors.contains("--limt"), "\(unknown)")
    }
}
