import Postgres
import Waiting

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Removes what the cascade leaves in the auth schema, by user id only: an e-mail address may be somebody else's by
/// now.
enum AuthScrub {
    /// How many rows of each kind were removed or cleaned for one account.
    struct Counts: Sendable, Hashable {
        var flowStates = 0
        var refreshTokens = 0
        var auditEntries = 0
        var uploads = 0
        var buckets = 0

        var total: Int { flowStates + refreshTokens + auditEntries + uploads + buckets }

        /// The counts by name, as the step records them.
        var byName: [String: Int] {
            [
                "flow_states": flowStates, "refresh_tokens": refreshTokens, "audit_entries": auditEntries,
                "uploads": uploads, "buckets": buckets,
            ]
        }
    }

    /// Scrubs in one pass for those of the accounts whose requests nothing stops, and returns the counts of each; nil
    /// for the others.
    ///
    /// The audit log, which may take half an hour to read, is read before anything is written. If a request is stopped
    /// while the pass writes, only the writes are rolled back, and repeated for the rest with the brakes held from the
    /// beginning.
    ///
    /// - Throws: ``Braked`` if a request is stopped even then, for example because another account appeared under its
    ///   user id.
    static func pass(for users: [UUID], keptBuckets: Set<String>, pool: Pool) async throws -> [Counts?] {
        let (readFor, entries) = try await pool.withConnection { connection in
            let released = try DeletionBrakes.released(users, on: connection)
            return (released, try AuditLogScrub.entries(of: released, on: connection))
        }
        guard !readFor.isEmpty else { return users.map { _ in nil } }
        for holdsFirst in [false, true] {
            do {
                return try await pool.withTransaction { connection -> [Counts?] in
                    try connection.requireTriggers()
                    if holdsFirst { try DeletionBrakes.hold(of: readFor, on: connection) }
                    let released = Set(try DeletionBrakes.released(readFor, on: connection))
                    let counts = try scrub(Array(released), entries, keptBuckets, on: connection)
                    try DeletionBrakes.hold(of: readFor, on: connection)
                    guard try Set(DeletionBrakes.released(readFor, on: connection)) == released else { throw Braked() }
                    return users.map { released.contains($0) ? counts[$0] ?? Counts() : nil }
                }
            } catch is Braked {}
        }
        throw Braked()
    }

    /// Scrubs for many accounts, and returns the counts of each; what is in kept buckets stays.
    private static func scrub(
        _ users: [UUID],
        _ entries: [UUID],
        _ keptBuckets: Set<String>,
        on connection: isolated Connection
    ) throws -> [UUID: Counts] {
        let texts = users.map(\.text)
        var counts: [UUID: Counts] = [:]
        func count(_ ids: [String?], _ field: WritableKeyPath<Counts, Int>) {
            for user in ids.compactMap({ $0.flatMap(UUID.init(uuidString:)) }) where users.contains(user) {
                counts[user, default: Counts()][keyPath: field] += 1
            }
        }
        count(
            try connection.query(
                AuthFlows.deleting(of: users, onlyOpen: false, on: connection),
                as: String?.self
            ),
            \.flowStates
        )
        count(
            try connection.query(
                "\(AccountSessions.deletingOldTokens(of: users)) returning user_id::text",
                as: String?.self
            ),
            \.refreshTokens
        )
        count(
            try connection.query(
                UnfinishedUploads.deleting(of: users, keptBuckets: keptBuckets),
                as: String?.self
            ),
            \.uploads
        )
        // A bucket that the account created stays, without its owner.
        count(
            try connection.query(
                """
                update storage.buckets as b
                set owner = null, owner_id = null
                from unnest(\(texts)) as a (id)
                where a.id = \(AccountObjects.ownerText(of: "b"))
                returning a.id
                """,
                as: String?.self
            ),
            \.buckets
        )
        count(try AuditLogScrub.scrub(entries, of: texts, on: connection), \.auditEntries)
        return counts
    }
}

extension DeletionRun {
    /// Removes what the cascade leaves in the auth schema, together with every request that waits for it; the counts
    /// include what was removed when the step was done before.
    func scrubAuth() async throws -> StepResult {
        guard let found = try await services.scrubs.answer(for: user) else { throw Braked() }
        let before = try await services.pool.withConnection { try journal.counts(of: .scrubAuth, on: $0) }
        let counts = before.merging(found.byName, uniquingKeysWith: +)
        guard counts.values.contains(where: { $0 > 0 }) else { return .done(.nothingFound, StepFacts()) }
        return .done(.ok, StepFacts(counts: counts))
    }
}
