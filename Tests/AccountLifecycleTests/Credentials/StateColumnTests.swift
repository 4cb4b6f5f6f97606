import TestSupport
import Testing

@testable import AccountLifecycle

/// The states in code are those that the column allows; otherwise one would be refused by the column or not decoded.
@Suite struct StateColumnTests {
    @Test(
        arguments: [
            ("authorization_codes_state", AuthorizationCodeState.allCases.map(\.rawValue)),
            ("pending_revocations_state", PendingRevocationState.allCases.map(\.rawValue)),
        ]
    )
    func theStatesAreThoseOfTheColumn(_ constraint: String, _ states: [String]) async throws {
        try await TestDatabase.with(.migrated) { database in
            let allowed = try await database.psql(
                """
                select m[1]
                from pg_constraint
                cross join lateral regexp_matches(pg_get_constraintdef(oid), '''([a-z_]+)''', 'g') as m
                where conname = '\(constraint)'
                """
            )
            #expect(allowed.split(whereSeparator: \.isWhitespace).map(String.init).sorted() == states.sorted())
        }
    }
}
