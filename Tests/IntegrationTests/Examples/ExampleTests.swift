import AccountLifecycle
import Foundation
import JobQueue
import Sandbox
import TestSupport
import Testing

@testable import accountctl

/// Every command line that the help and the documentation show works.
@Suite("Every example", .timeLimit(.minutes(5)))
struct ExampleTests {
    private static let parts = 3

    @Test("of the help and the documentation does what it says", arguments: 0..<parts)
    func examples(_ part: Int) async throws {
        let examples = try Self.run().filter { !Self.isTransfer($0) }
        let own = examples.enumerated().filter { $0.offset % Self.parts == part }.map(\.element)
        #expect(own.count > 20)
        let documents = try Self.documents(among: examples)
        try await ExampleStage.with { stage in
            for example in own {
                try await stage.reset()
                try await Self.prepare(example, stage)
                // Only a dry run has to leave everything as it was.
                let before = try await example.line.contains("--dry-run") ? stage.fingerprint() : nil
                try await expectWorks(example, on: stage)
                if let before {
                    #expect(try await stage.fingerprint() == before, "a dry run changes nothing: \(example)")
                }
                if let fields = documents[example] {
                    try await stage.reset()
                    try await Self.prepare(example, stage)
                    try await expectDocument(example, of: fields, on: stage)
                }
            }
        }
    }

    @Test("of a team transfer does what it says, one after the other")
    func transfer() async throws {
        let steps = try Self.run().filter(Self.isTransfer)
        #expect(steps.allSatisfy { Self.step($0) != nil } && steps.count >= ExampleRules.transfer.count)
        try await ExampleStage.with { stage in
            var own: [String: String] = [:]
            for example in steps.sorted(by: { (Self.step($0) ?? 0) < (Self.step($1) ?? 0) }) {
                if example.line.contains("transfer generate") {
                    stage.sandbox.apple.startTransfer(of: "com.example.app", to: ExampleStage.team)
                } else if example.line.contains("transfer import") {
                    try await stage.database.psql("delete from accountctl.apple_transfers")
                } else if example.line.contains("transfer exchange") {
                    // The exchange is the recipient's step, with the recipient's key.
                    stage.sandbox.apple.acceptTransfer(of: "com.example.app")
                    let key = stage.sandbox.apple.makeKey(teamID: ExampleStage.team)
                    try stage.write("keys/recipient.p8", key.privateKey)
                    own = [
                        "ACCOUNTCTL_APPLE_TEAM_ID": key.teamID, "ACCOUNTCTL_APPLE_KEY_ID": key.keyID,
                        "ACCOUNTCTL_APPLE_PRIVATE_KEY_FILE": stage.folder.path + "/keys/recipient.p8",
                    ]
                }
                try await expectWorks(example, on: stage, own)
            }
            let left = "select string_agg(distinct state, ' ') from accountctl.apple_transfers"
            #expect(try await stage.database.psql(left) == "applied")
        }
    }

    @Test("that a rule names exists, and so does every kind of job that an example names")
    func rules() throws {
        let lines = try Example.all().map(\.line)
        let starts =
            ExampleRules.notRun.map(\.start) + ExampleRules.goesOn.map(\.start)
            + ExampleRules.replaced.map(\.part)
        for start in starts + ExampleRules.nothingIsGood + ExampleRules.sentences {
            #expect(lines.contains { $0.contains(start) }, "no example has \(start)")
        }
        for line in Array(ExampleRules.endsWith.keys) + Array(ExampleRules.stands.keys) {
            #expect(lines.contains(line), "there is no example \(line)")
        }
        let kinds = try Self.kinds()
        for line in lines {
            for match in line.matches(of: /(?:jobs enqueue|jobs \w+ .*--kind) ([a-z._]+)/) {
                #expect(kinds.contains(String(match.1)), "\(line)")
            }
        }
    }

    // MARK: - One example

    /// Prepares what an example needs beyond the stage.
    private static func prepare(_ example: Example, _ stage: ExampleStage) async throws {
        let line = stage.real(example.line)
        if line.hasPrefix("accountctl jobs"), line.contains("--unique-key"), !line.contains("jobs enqueue") {
            // Adds the job as its schedule does.
            let job = try #require(try AccountLifecycle.periodic().map(\.job).first { $0.kind == "mail.schedule" })
            let key = try #require(job.uniqueKey)
            try await stage.database.psql(
                "select accountctl.enqueue_job('\(job.kind)', queue => '\(job.queue)', unique_key => '\(key)')"
            )
        } else if line.hasPrefix("accountctl jobs retry") {
            try await stage.database.psql(ExampleStage.discarded)
        } else if line.hasPrefix("accountctl keys new"), line.contains("--append") {
            try stage.write("etc/sealing.keys", try await AccountctlProcess.run("keys", "new", "2026-11").output)
        } else if line.hasPrefix("accountctl keys new") {
            // Another example may have created the file.
            try? FileManager.default.removeItem(at: stage.folder.appendingPathComponent("etc/sealing.keys"))
        } else if line.hasPrefix("accountctl jobs list --state") {
            try await stage.database.psql(
                ExampleStage.discarded + "; update accountctl.job_history set kind = 'account.delete'"
            )
        } else if line.hasPrefix("accountctl jobs list --exhausted") {
            try await stage.database.psql("update accountctl.jobs set exhausted_at = now() where id = 44")
        } else if line.hasPrefix("accountctl jobs resume") {
            _ = try await stage.start("accountctl jobs pause apple --yes").result()
        } else if line.hasPrefix("accountctl relay stream add") {
            try await stage.database.psql("delete from accountctl.mail_streams")
        } else if line.hasPrefix("accountctl deletion receipt") || line.contains("select(.receipt)") {
            // Erases anna for real, with the receipt number 42.
            try await stage.database.psql(
                """
                delete from accountctl.deletion_requests;
                alter table accountctl.deletion_receipts alter column number restart with 42;
                """
            )
            let line = "accountctl deletion rehearse anna@example.com --no-input --confirm=\(ExampleStage.anna)"
            let erased = try await stage.start(line).result()
            #expect(erased.status == 0, "\(erased.errors)")
        } else if line.hasPrefix("accountctl deletion request") || line.hasPrefix("accountctl deletion plan") {
            try await stage.database.psql("delete from accountctl.deletion_requests")
        } else if line.hasPrefix("accountctl deletion replay") {
            // The state of a backup from before anna's request, with all deletions paused.
            let list = try await stage.start("accountctl deletion export > erasures.ndjson").result()
            #expect(list.status == 0, "\(list.errors)")
            try await stage.database.psql(
                """
                delete from accountctl.deletion_requests;
                update accountctl.deletion_brakes set paused_at = now(), paused_by = 'olga'
                """
            )
        } else if line.contains("ids.txt.results.ndjson"), (try? stage.text("ids.txt.results.ndjson")) == nil {
            // The results of a run over the list, since the example of that run may be in another part.
            try stage.write("ids.txt.results.ndjson", #"{"outcome":"requested","request":"\#(UUID())"}"# + "\n")
        } else if line.hasPrefix("accountctl deletion list --paused") {
            try await stage.database.psql("update accountctl.deletion_requests set paused_at = now()")
        } else if line.contains("--without-apple") {
            try await stage.database.psql("update accountctl.deletion_requests set state = 'waiting_for_apple'")
        } else if line.hasPrefix("accountctl deletion list --state") || line.hasPrefix("accountctl deletion accept") {
            try await stage.database.psql(ExampleStage.standing)
        } else if line.hasPrefix("accountctl deletion resume") {
            try await stage.database.psql(
                "update accountctl.deletion_brakes set paused_at = now(), paused_by = 'olga'"
            )
        }
    }

    private func expectWorks(
        _ example: Example,
        on stage: ExampleStage,
        _ environment: [String: String] = [:]
    ) async throws {
        if !example.line.contains("--until-idle"),
            let way = ExampleRules.goesOn.first(where: { example.line.hasPrefix($0.start) })
        {
            return try await expectGoesOn(example, way.begun, on: stage)
        }
        let result = try await answered(example.line, on: stage, environment)
        let expected = ExampleRules.endsWith[example.line]?.status ?? 0
        #expect(result.status == expected, "\(example): \(result.errors)\(result.output.prefix(500))")
        var output = result.output
        if let file = stage.real(example.line).firstMatch(of: #/>+ ([^\s)]+)/#) {
            output = try stage.text(String(file.1))
        }
        let isSentence = output.isEmpty && ExampleRules.sentences.contains { example.line.hasPrefix($0) }
        #expect(!(isSentence ? result.errors : output).isEmpty, "\(example) prints nothing: \(result.errors)")
        expectFields(example, output)
    }

    /// Runs a line; if it asks for confirmation, runs it once more with the answer.
    func answered(
        _ line: String,
        on stage: ExampleStage,
        _ environment: [String: String] = [:]
    ) async throws -> AccountctlProcess.Result {
        // The text that somebody would paste.
        let input = line.split(separator: " ").contains("-") ? try stage.text("secret.txt") : nil
        let result = try await stage.start(line, environment: environment, input: input).result()
        guard result.status == 2,
            let asked = result.errors.firstMatch(of: /there is no terminal to ask at: give (\S+)/)
        else { return result }
        let answer = stage.real(line) + " " + asked.1
        return try await stage.start(answer, environment: environment, input: input).result()
    }

    /// Expects that each object has the selected fields, and no others.
    private func expectFields(_ example: Example, _ output: String) {
        guard let fields = example.line.firstMatch(of: #/--json ([a-z_]+(?:,[a-z_]+)*)(?: |$)/#) else { return }
        let names = fields.1.split(separator: ",").map(String.init).sorted()
        let texts = example.line.contains("ndjson") ? output.split(separator: "\n").map(String.init) : [output]
        for text in texts {
            guard let value = try? JSONSerialization.jsonObject(with: Data(text.utf8)) else {
                Issue.record("\(example) is no JSON: \(text)")
                continue
            }
            let objects = value as? [[String: Any]] ?? [value as? [String: Any] ?? [:]]
            let isSound = ExampleRules.nothingIsGood.contains { example.line.hasPrefix($0) }
            #expect(objects.isEmpty == isSound, "\(example): \(text)")
            for object in objects { #expect(object.keys.sorted() == names, "\(example): \(text)") }
        }
    }

    private func expectGoesOn(
        _ example: Example,
        _ begun: String?,
        on stage: ExampleStage
    ) async throws {
        let process = try stage.start("exec " + stage.real(example.line))
        if let begun {
            #expect(try await process.waitForErrors(containing: begun), "\(example): \(process.errorsSoFar)")
        } else {
            while process.isRunning, !process.outputSoFar.contains("\n") {
                // A watch of jobs prints nothing until a job is added.
                try await stage.database.psql("select accountctl.enqueue_job('apple.read_inbox', queue => 'apple')")
                try await Task.sleep(for: .milliseconds(50))
            }
        }
        process.signal(SIGTERM)
        let result = try await process.result(within: .seconds(60))
        #expect(result.status == (begun == nil ? -SIGTERM : 0), "\(example): \(result.errors)")
        if begun == nil { #expect(!result.output.isEmpty, "\(example)") }
    }

    // MARK: - Selection

    /// The examples that are run.
    private static func run() throws -> [Example] {
        try Example.all().filter { example in
            !ExampleRules.notRun.contains { example.line.hasPrefix($0.start) }
        }
    }

    /// The index of the transfer step that an example shows; nil if it shows none.
    private static func step(_ example: Example) -> Int? {
        ExampleRules.transfer.firstIndex { example.line.contains("apple transfer \($0) ") }
    }

    private static func isTransfer(_ example: Example) -> Bool { example.line.contains("apple transfer") }

    /// The kinds of jobs that the sources declare.
    static func kinds() throws -> Set<String> {
        let folder = Repository.path("Sources/AccountLifecycle")
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder).filter { $0.hasSuffix(".swift") }
        return try files.reduce(into: []) { kinds, file in
            let text = try String(contentsOfFile: folder + "/" + file, encoding: .utf8)
            for match in text.matches(of: /JobKind<\w+>\(\s*"([a-z._]+)"/) { kinds.insert(String(match.1)) }
        }
    }
}
