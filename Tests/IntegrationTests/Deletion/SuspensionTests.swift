import TestSupport
import Testing

@Suite("The length of a suspension", .timeLimit(.minutes(5)))
struct SuspensionTests {
    @Test("A shorter suspension replaces a longer one only with --shorten")
    func shorter() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let words = ["user", "suspend", OperatorStage.id(1), "--reason", "spam", "--yes", "--for"]
            #expect(try await stage.run(words + ["3650d"]).status == 0)
            let refused = try await stage.run(words + ["7d"])
            #expect(refused.status == 6 && refused.errors.contains("--shorten"), "\(refused)")
            #expect(!refused.errors.contains("further notice"), "\(refused)")
            let isLong = "select banned_until > now() + interval '9 years' from auth.users"
            #expect(try await stage.database.psql(isLong) == "t")
            #expect(try await stage.run(words + ["7d", "--shorten"]).status == 0)
            #expect(try await stage.database.psql(isLong) == "f")
        }
    }

    @Test("A suspension is at most 36500 days long")
    func longest() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let words = ["user", "suspend", OperatorStage.id(1), "--reason", "spam", "--yes", "--for"]
            for length in ["9999999d", "36501d"] {
                let result = try await stage.run(words + [length])
                #expect(
                    result.status == 2 && result.errors.contains("--for") && result.errors.contains("36500d"),
                    "\(result)"
                )
            }
            #expect(
                try await stage.database.psql("select count(*) from auth.users where banned_until is not null") == "0"
            )
            #expect(try await stage.run(words + ["36500d"]).status == 0)
        }
    }
}
