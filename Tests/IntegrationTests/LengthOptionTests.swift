import ArgumentParser
import TestSupport
import Testing

@testable import accountctl

@Suite("Lengths of time on the command line", .timeLimit(.minutes(5)))
struct LengthOptionTests {
    private static let days = LengthOption(name: "--life", plainName: "--days", unit: .day, bounds: 1...182)
    private static let seconds = LengthOption(name: "--per", plainName: "--seconds", unit: .second, bounds: 0...3600)

    @Test("are written in one form, or as the plain number of an older option")
    func taken() throws {
        for (text, plain, expected) in [
            ("30d", nil, 30), ("26w", nil, 182), ("1d24h", nil, 2), (nil, 30, 30), (nil, nil, nil),
        ] as [(String?, Int?, Int?)] {
            let count = try Self.days.count(text, plain: plain)
            #expect(count == expected)
        }
        for (text, plain, expected) in [
            ("1h", nil, 3600), ("1m30s", nil, 90), ("1000ms", nil, 1), ("0", nil, 0), (nil, 0, 0),
        ] as [(String?, Int?, Int?)] {
            let count = try Self.seconds.count(text, plain: plain)
            #expect(count == expected)
        }
    }

    @Test("of another form, and beyond their bounds, are refused by the name of the option")
    func refused() {
        for (text, plain, message) in [
            ("30", nil, "--life \(DurationArgument.form)"), ("", nil, "--life \(DurationArgument.form)"),
            ("36h", nil, "--life must be whole days from 1d to 182d"),
            ("0", nil, "--life must be whole days from 1d to 182d"),
            ("183d", nil, "--life must be whole days from 1d to 182d"),
            (nil, 183, "--days must lie between 1 and 182"), ("30d", 30, "--life and --days exclude each other"),
        ] as [(String?, Int?, String)] {
            let error = #expect(throws: ValidationError.self) { try Self.days.count(text, plain: plain) }
            #expect(error?.message == message)
        }
        let parts = #expect(throws: ValidationError.self) { try Self.seconds.count("1500ms", plain: nil) }
        #expect(parts?.message == "--per must be whole seconds from 0 to 1h")
    }

    @Test("are told by the help of every command as such, and by no number of a unit")
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

    @Test("of a request's grace are the same by both options")
    func grace() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(2)
            for (number, option, length) in [(1, "--grace", "2h"), (2, "--grace-seconds", "7200")] {
                let id = OperatorStage.id(number)
                let asked = try await stage.run(["deletion", "request", id, "--confirm=\(id)", option, length])
                #expect(asked.status == 0, "\(asked.errors)")
            }
            let lengths = "select count(*), count(distinct user_id), min(run_after - requested_at) "
            let read = try await stage.database.psql(
                lengths + "from accountctl.deletion_requests where run_after - requested_at = interval '2 hours'"
            )
            #expect(read == "2|2|02:00:00")
        }
    }

    @Test(
        "are refused before anything is done",
        arguments: [
            (["deletion", "request", "anna", "--grace", "31d"], "--grace must be whole seconds from 0 to 30d"),
            (["deletion", "request", "anna", "--grace", "1"], "--grace must be a length of time such as"),
            (["deletion", "request", "anna", "--grace-seconds", "2592001"], "--grace-seconds must lie between 0 and"),
            (["apple", "client-secret", "print", "x", "--life", "30"], "--life must be a length of time such as"),
            (["avatars", "sweep", "--older-than", "30"], "--older-than must be a length of time such as"),
            (["avatars", "sweep", "--older-than", "99999d"], "--older-than must lie between 1h and 36500d"),
            (["doctor", "--expect-worker-within", "6"], "--expect-worker-within must be a length of time such as"),
        ]
    )
    func told(_ words: [String], _ hint: String) async throws {
        let result = try await AccountctlProcess(words).result()
        #expect(result.status == 2 && result.output.isEmpty, "\(result)")
        #expect(result.errors.contains("error: \(hint)"), "\(result)")
    }
}
