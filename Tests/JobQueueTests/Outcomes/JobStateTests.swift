import TestSupport
import Testing

@testable import JobQueue

/// The states in Swift and in the database are the same: a state that only one side knows would be refused by a column,
/// or not be understood.
@Suite(.timeLimit(.minutes(5))) struct JobStateTests {
    @Test(arguments: [("job_state", JobState.live), ("job_end", JobState.allCases.filter(\.isEnded))])
    func theStatesAreThoseOfTheType(_ type: String, _ states: [JobState]) async throws {
        try await TestDatabase.with(.migrated) { database in
            let words = try await database.psql("select unnest(enum_range(null::accountctl.\(type)))")
            #expect(words.split(whereSeparator: \.isWhitespace).map(String.init) == states.map(\.rawValue))
        }
    }
}
