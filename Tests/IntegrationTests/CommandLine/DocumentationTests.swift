import AccountLifecycle
import Crypto
import Foundation
import Settings
import TestSupport
import Testing

@testable import accountctl

@Suite("The documentation tells the truth about")
struct DocumentationTests {
    /// The cells of each row of the table under a heading row; `\|` is a literal bar.
    private func rows(_ heading: String) throws -> [[String]] {
        let lines = try Document.wholeText().components(separatedBy: "\n")
        let start = try #require(lines.firstIndex(of: heading), "\(heading)")
        return lines[(start + 2)...].prefix { $0.hasPrefix("|") }.map { line in
            line.replacingOccurrences(of: "\\|", with: "\u{0}").split(separator: "|").map { cell in
                cell.trimmingCharacters(in: .whitespaces).replacingOccurrences(of: "\u{0}", with: "|")
            }
        }
    }

    /// The names in backticks in the first cells of the table under a heading row, in order.
    private func named(_ heading: String) throws -> [String] {
        try rows(heading).flatMap { row in row[0].matches(of: /`([^`]+)`/).map { String($0.1) } }
    }

    @Test("deletions: every state and every step")
    func deletions() throws {
        let states = DeletionState.allCases.map(\.rawValue)
        #expect(try named("| state | means | ends when |") == states)
        #expect(try named("| state | show |") == states)
        #expect(try named("| step | does |") == DeletionStep.allCases.map(\.rawValue))
    }

    @Test("the code: exactly the targets that exist")
    func targets() throws {
        let told = try named("| target | holds |")
        let folders = try FileManager.default.contentsOfDirectory(atPath: Repository.path("Sources"))
        // The folder of the migrations is a target as well.
        #expect(told.sorted() == (folders.filter { !$0.hasPrefix(".") } + ["SQLFiles"]).sorted())
    }

    @Test("the code: the types, files and folders that it names exist")
    func namesOfTheCode() throws {
        let page = try #require(try Document.all().first { $0.path.hasSuffix("/TheCode.md") })
        let start = try #require(page.text.range(of: "\n## Where to begin\n"))
        let files = ["Sources", "Tests"].flatMap { Repository.swiftFiles(below: $0) }
        let known = Set(files.flatMap { $0.replacing(".swift", with: "").split(separator: "/") })
        let told = page.text[start.upperBound...].matches(of: /`([A-Z][A-Za-z]*[a-z][A-Za-z+]*)(?:\.[A-Z]\w*)?`/)
        #expect(told.count > 10)
        for name in told { #expect(known.contains(name.1), "\(name.1)") }
    }

    @Test("the tests and the demo: the figures of the README")
    func figures() throws {
        let page = try #require(try Document.all().first { $0.path == "README.md" })
        let readme = page.text.replacing("\n", with: " ")
        let told = try #require(readme.firstMatch(of: /more than ([0-9,]+) tests/)?.1)
        let least = try #require(Int(told.replacing(",", with: "")))
        let tests = try Repository.swiftFiles(below: "Tests").reduce(0) { count, file in
            let source = try String(contentsOfFile: file, encoding: .utf8)
            return count + source.matches(of: /\n *@Test\b/).count
        }
        #expect(tests > least)
        let demo = try String(contentsOfFile: Repository.path("deploy/demo"), encoding: .utf8)
        let users = try #require(demo.firstMatch(of: /\nusers=(\d+)\n/)?.1)
        let deletions = try #require(demo.firstMatch(of: /\ndeletions=(\d+)\n/)?.1)
        #expect(readme.contains(" \(users) accounts") && readme.contains(" about \(deletions) of them"))
    }

    @Test("Supabase: the versions of its tables that the stand-in has")
    func platform() throws {
        let schema = try String(contentsOfFile: Repository.path("sql/platform/database.sql"), encoding: .utf8)
        let versions = try #require(schema.firstMatch(of: /Auth\s+(?:--\s+)?(\d+\.\d+), Storage (\d+\.\d+)/))
        let told = try Document.wholeText().split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(told.contains("Auth \(versions.1) and Storage \(versions.2)"))
    }

    @Test("exit codes")
    func exitCodes() throws {
        #expect(try rows("| code | meaning |").map { $0[0] } == ExitStatus.allCases.map { String($0.rawValue) })
    }

    @Test("mail to the relay: exactly the reasons that accountctl.can_send gives")
    func canSend() async throws {
        let function = "'accountctl.can_send(text, uuid)'::regprocedure"
        let source = try await TestDatabase.with(.migrated) { database in
            try await database.psql("select prosrc from pg_proc where oid = \(function)")
        }
        // The placeholders for paths are not compared.
        let known = source.matches(of: #/(?:reason := |then |else |format\()'([^':]* [^':]*)/#).map { String($0.1) }
        let told = try rows("| answer | reason | exit code of `relay can-send` |").map { row in
            row[1].filter { $0 != "`" }.split(separator: ":").first.map { String($0) } ?? ""
        }
        #expect(Set(told) == Set(known) && told.count == Set(told).count, "\(known)")
    }

    @Test("settings: every key, with form, default and meaning")
    func settings() throws {
        let declared = Settings.check(SettingsInputs(file: nil, variables: [:]) { _ in "" }).settings.declarations
        let told = try rows("| key | form | default | meaning |")
        #expect(told.map { $0[0] } == declared.map { "`\($0.key)`" })
        for (row, setting) in zip(told, declared) {
            #expect(row[1] == setting.form && row.last == setting.help, "\(setting.key)")
            if let standard = setting.standard, !standard.isEmpty { #expect(row[2] == "`\(standard)`") }
        }
    }

    @Test("settings: the example file for two environments is valid for both")
    func twoEnvironments() throws {
        let starts = ["environment = production\n", "[environments.staging.database]\n"]
        let file = try Document.wholeText().components(separatedBy: "```\n")
            .filter { block in starts.contains { block.hasPrefix($0) } }.joined()
        let key = P256.Signing.PrivateKey().pemRepresentation
        func settings(_ environment: String?) throws -> Settings {
            try Settings(
                SettingsInputs(file: (file, "accountctl.conf"), variables: [:], environment: environment) { path in
                    path.hasSuffix(".p8") ? key : "secret"
                }
            )
        }
        let production = try settings(nil)
        #expect(production.environment.isProduction && production.apple.identities.count == 3)
        #expect(production.listeners.publicAddress != nil)
        let staging = try settings("staging")
        #expect(!staging.environment.isProduction && !staging.apple.isConfigured)
        #expect(staging.listeners.publicAddress == nil && staging.listeners.admin != nil)
        #expect(staging.database.project != production.database.project)
        #expect(staging.keys.sealingKeyFile != production.keys.sealingKeyFile)
    }

    @Test("settings: the example file for the first hour is valid")
    func firstHour() throws {
        let file = try #require(
            try Document.wholeText().components(separatedBy: "```\n")
                .first { $0.hasPrefix("[database]\nurl = host=127.0.0.1") }
        )
        let settings = try Settings(
            SettingsInputs(file: (file, "accountctl.conf"), variables: [:], readFile: { _ in "secret" })
        )
        #expect(!settings.environment.isProduction && settings.deletion.grace == .seconds(60))
        #expect(settings.database.password != nil && settings.storage.serviceKey != nil)
    }

    @Test("settings: every setting that ends a situation exists")
    func settingsOfSituations() {
        let declared = Set(
            Settings.check(SettingsInputs(file: nil, variables: [:]) { _ in "" }).settings.declarations.map(\.key)
        )
        var named = 0
        for code in Situation.Code.allCases {
            for match in Situation(code).endedBy(.short, of: UUID()).matches(of: /(deletion|apple)\.[a-z_]+/) {
                #expect(declared.contains(String(match.0)), "\(code.rawValue)")
                named += 1
            }
        }
        #expect(named > 3)
    }

    @Test("settings: the advice to correct a setting that blocks requests says to restart the workers")
    func settingsNeedNewWorkers() {
        let situations = [
            Situation(.ceiling), Situation(.tooLarge), Situation(.undecidedBucket), Situation(.undecidedFile),
            Situation(.appleMisconfigured), Situation(.storageUnusable, fault: .key),
            Situation(.storageUnusable, fault: .settings),
        ]
        for situation in situations {
            let words = situation.endedBy(.short, of: UUID())
            #expect(words.contains("once workers are restarted with it"), "\(words)")
        }
        let outage = Situation(.storageUnusable).endedBy(.short, of: UUID())
        #expect(outage.hasPrefix("Storage answering again, see doctor; it then continues within the hour"), "\(outage)")
        let ofFile = Situation(.storageUnusable, subject: "avatars").endedBy(.short, of: UUID())
        #expect(ofFile.hasPrefix(outage) && ofFile.contains("at which of the account's files in avatars"))
    }

    @Test(
        "commands: the advice on a blocked request says when it is tried again, and names deletion retry to try at once",
        arguments: [
            (Situation.Code.blockingRows, "five minutes"), (.missingRight, "five minutes"),
            (.undecidedBucket, "five minutes"), (.appleMisconfigured, "five minutes"),
            (.appleUnreachable, "five minutes"), (.storageUnusable, "the hour"), (.residue, "the hour"),
        ]
    )
    func retryOfSituations(_ code: Situation.Code, _ time: String) {
        let words = Situation(code).endedBy(.short, of: UUID())
        #expect(words.contains("within \(time), or at once with deletion retry"), "\(words)")
    }

    @Test("commands: every command that ends a situation exists")
    func commandsOfSituations() throws {
        let commands = try CommandDescription.root().all
        var named = 0
        for code in Situation.Code.allCases {
            let words = Situation(code).endedBy(.short, of: UUID())
            #expect(!words.isEmpty, "\(code.rawValue)")
            for match in words.matches(of: /\b(deletion|apple) (vault [a-z-]+|[a-z]+)/) {
                let path = [String(match.1)] + match.2.split(separator: " ").map(String.init)
                #expect(
                    commands.contains { Array($0.path.dropFirst()) == path },
                    "\(code.rawValue): \(match.0)"
                )
                named += 1
            }
        }
        #expect(named > 8)
    }

    @Test("commands: exactly the commands that exist")
    func commands() throws {
        let root = try CommandDescription.root()
        var told: Set<String> = []
        for row in try rows("| command | does |") {
            for match in row[0].matches(of: /`([^`]+)`/) {
                let words = match.1.split(separator: " ").map(String.init).prefix { !$0.hasPrefix("[") }
                let group = words[0]
                told.insert(group)
                for name in words.dropFirst() where name != "|" { told.insert("\(group) \(name)") }
            }
        }
        let leaves = root.children.flatMap { group in
            [group.commandName] + group.children.map { "\(group.commandName) \($0.commandName)" }
        }
        #expect(told.subtracting(leaves).isEmpty, "not there: \(told.subtracting(leaves).sorted())")
        #expect(Set(leaves).subtracting(told).isEmpty, "not told: \(Set(leaves).subtracting(told).sorted())")
    }

    @Test("the code: the words of a command give the name of its file, and the first word its folder")
    func files() throws {
        let others = [
            "config": "settings", "keys": "settings", "migrate": "database", "serve": "worker", "completion": "help",
            "manual": "help",
        ]
        let files = Repository.swiftFiles(below: "Sources/accountctl").map { $0.lowercased() }
        for command in try CommandDescription.root().all.dropFirst() {
            let words = Array(command.path.dropFirst())
            let folder = "/sources/accountctl/\(others[words[0]] ?? words[0])/"
            let name = "/" + words.joined().replacing("-", with: "") + "command.swift"
            #expect(files.contains { $0.contains(folder) && $0.hasSuffix(name) }, "\(command.path)")
        }
    }
}
