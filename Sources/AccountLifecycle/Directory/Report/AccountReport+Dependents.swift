import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension AccountReport {
    /// Tables of the app that refer to the account, or to its profile by the key that is the user id.
    ///
    /// Rows are counted only if an index serves the count or the table is small, our role sees all of them, and the
    /// deadlines hold: no table of an app may keep the rest of the report from being shown.
    static func dependents(
        _ id: UUID,
        counting: (all: Duration, one: Duration),
        on connection: isolated Connection
    ) async throws -> [Dependent] {
        let references = try AccountReference.all(on: connection)
        let counted = references.filter(\.isCountable).map { $0.counting(id) }
        var counts = try await counts(counted, within: counting, on: connection)[...]
        return references.map { reference in
            reference.dependent(counted: reference.isCountable ? counts.removeFirst() : nil)
        }
    }

    /// The count of each statement, nil for one that passes its deadline.
    ///
    /// All are tried in one statement first; if that fails, each runs by itself for as long as time is left.
    private static func counts(
        _ statements: [Statement],
        within counting: (all: Duration, one: Duration),
        on connection: isolated Connection
    ) async throws -> [Int?] {
        if statements.isEmpty { return [] }
        let start = ContinuousClock.now
        let all = statements.dropFirst().reduce("select array[(" + statements[0] + ")") { $0 + ", (" + $1 + ")" } + "]"
        let together = try await inTime(on: connection) { connection in
            try connection.one(all, as: [Int].self, deadline: counting.one)
        }
        if let together { return together }
        var counts: [Int?] = []
        for statement in statements {
            let left = min(counting.one, counting.all - (ContinuousClock.now - start))
            var count: Int?
            if left > .zero {
                count = try await inTime(on: connection) { try $0.one(statement, as: Int.self, deadline: left) }
            }
            counts.append(count)
        }
        return counts
    }
}
