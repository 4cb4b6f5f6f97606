import ArgumentParser
import TestSupport
import Testing

@testable import accountctl

@Suite("Lengths of time on the command line", .timeLimit(.minutes(5)))
struct LengthOptionTests {
    private static let days = LengthOption(name: "--life", unit: .day, bounds: 1...182)
    private static let seconds = LengthOption(name: "--per", unit: .second, bounds: 0...3600)

    @Test("are written in one form")
    func taken() throws {
        for (text, expected) in [("30d", 30), ("26w", 182), ("1d24h", 2)] {
            let count = try Self.days.count(text)
            #expect(count == expected)
        }
        for (text, expected) in [("1h", 3600), ("1m30s", 90), ("1000ms", 1), ("0", 0)] {
            let count = try Self.seconds.count(text)
            #expect(count == expected)
        }
    }

    @Test("of another form or beyond their bounds are refused with the name of the option")
    func refused() {
        for (text, message) in [
            ("30", "--life \(DurationArgument.form)"), ("", "--life \(DurationArgument.form)"),
            ("36h", "--life must be whole days from 1d to 182d"), ("0", "--life must be whole days from 1d to 182d"),
            ("183d", "--life must be whole days from 1d to 182d"),
        ] {
            let error = #expect(throws: ValidationError.self) { try Self.days.count(text) }
            #expect(error?.message == message)
        }
        let parts = #expect(throws: ValidationError.self) { try Self.seconds.count("1500ms") }
        #expect(parts?.message == "--per must be whole seconds from 0 to 1h")
    }

    @Test("are called durations in the help of every command, and no option counts a unit")
    func help() throws {
        var count = 0
        for command in try CommandDescription.root().all {
            for option in command.arguments ?? [] where option.kind == .option && option.shouldDisplay {
                let names = (option.names ?? []).map(\.name) + [option.valueName ?? ""]
                let words = names.flatMap { $0.split(separator: "-").map(String.init) }
                let units = Set(words).intersection(["seconds", "minutes", "hours", "days", "weeks"])
                #expect(units.isEmpty, "\(command.path) \(words)")
                if option.valueName == "duration" { count += 1 }
            }
        }
        #expect(count >= 10, "\(count)")
    }

    @Test("are accepted for a request's grace")
    func grace() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let id = OperatorStage.id(1)
            let asked = try await stage.run(["deletion", "request", id, "--confirm=\(id)", "--grace", "1h60m"])
            #expect(asked.status == 0, "\(asked.errors)")
            let lengths = "select run_after - requested_at from accountctl.deletion_requests"
            let read = try await stage.database.psql(lengths)
            #expect(read == "02:00:00")
        }
    }

    @Test(
        "are refused before anything is done",
        arguments: [
            (["deletion", "request", "anna", "--grace", "31d"], "--grace must be whole seconds from 0 to 30d"),
            (["deletion", "request", "anna", "--grace", "1"], "--grace must be a length of time such as"),
            (["apple", "client-secret", "print", "x", "--life", "30"], "--life must be a length of time such as"),
            (["avatars", "sweep", "--older-than", "30"], "--older-than must be a length of time such as"),
            (["avatars", "sweep", "--older-than", "99999d"], "--older-than must be between 1h and 36500d"),
            (["doctor", "--expect-worker-within", "6"], "--expect-worker-within must be a length of time such as"),
        ]
    )
    func told(_ words: [String], _ hint: String) async throws {
        let result = try await AccountctlProcess(words).result()
        #expect(result.status == 2 && result.output.isEmpty, "\(result)")
        #expect(result.errors.contains("error: \(hint)"), "\(result)")
    }
}
