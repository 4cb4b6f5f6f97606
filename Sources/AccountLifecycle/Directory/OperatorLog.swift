package import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What operators did, newest first.
package struct OperatorLog: Sendable {
    /// A line of the log.
    package struct Entry: Sendable, Equatable {
        package let id: Int64
        package let loggedAt: Date
        package let operatorName: String
        package let databaseRole: String
        package let action: String
        package let reason: String?
        /// Ids of our own rows and counts, as JSON text.
        package let facts: String
        /// Whether the line is about an account.
        package let hasSubject: Bool
    }

    /// Which lines are wanted.
    package struct Filter: Sendable {
        /// The account, which is found by its keyed hash.
        package var subject: SubjectHash?
        package var operatorName: String?
        /// The start of the action's name, such as `deletion.`.
        package var action: String?
        package var since: Date?
        package var limit = 100

        package init() {}
    }

    /// Reads lines.
    ///
    /// - Throws: `PostgresError`.
    package static func entries(_ filter: Filter, on connection: isolated Connection) throws -> [Entry] {
        try connection.query(
            """
            select id, logged_at, operator, database_role::text, action, reason, facts::text, subject_hash is not null
            from accountctl.operator_log
            where (\(filter.subject?.bytes)::bytea is null or subject_hash = \(filter.subject?.bytes))
              and (\(filter.operatorName)::text is null or operator = \(filter.operatorName))
              and (\(filter.action)::text is null or starts_with(action, \(filter.action)))
              and (\(filter.since)::timestamptz is null or logged_at >= \(filter.since))
            order by logged_at desc, id desc
            limit \(filter.limit)
            """,
            as: (Int64, Date, String, String, String, String?, String, Bool).self
        )
        .map { row in
            Entry(
                id: row.0,
                loggedAt: row.1,
                operatorName: row.2,
                databaseRole: row.3,
                action: row.4,
                reason: row.5,
                facts: row.6,
                hasSubject: row.7
            )
        }
    }
}
