package import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What operators did, newest first.
package struct OperatorLog: Sendable {
    /// An entry of the log.
    package struct Entry: Sendable, Equatable {
        package let id: Int64
        package let loggedAt: Date
        package let operatorName: String
        package let databaseRole: String
        /// The user account on the machine from which the operator acted.
        package let machineUser: String?
        package let ticket: String?
        package let action: String
        package let reason: String?
        /// Ids of our own rows and counts, as JSON text.
        package let facts: String
        /// The name of the key and the hash that identify the account acted on.
        let subjectKey: String?
        let subjectHash: [UInt8]?

        /// The account acted on.
        package var subject: SubjectHash? { SubjectHash(keyID: subjectKey, bytes: subjectHash) }

        /// Whether the entry is about an account.
        package var hasSubject: Bool { subject != nil }
    }

    /// Which entries are wanted.
    package struct Filter: Sendable {
        /// The account, which is found by its keyed hash.
        package var subject: SubjectHash?
        package var operatorName: String?
        /// Prefixes of the action's name, such as `deletion.`, one of which must match; empty for all.
        package var actions: [String] = []
        package var ticket: String?
        package var since: Date?
        /// Entries of this time or later are left out.
        package var until: Date?
        package var limit = 100

        package init() {}
    }

    /// Reads entries, newest first.
    ///
    /// - Throws: `PostgresError`.
    package static func entries(_ filter: Filter, on connection: isolated Connection) throws -> [Entry] {
        try read(
            """
            where (\(filter.subject?.bytes)::bytea is null or subject_hash = \(filter.subject?.bytes))
              and (\(filter.operatorName)::text is null or operator = \(filter.operatorName))
              and (
                cardinality(\(filter.actions)::text[]) = 0
                or exists (
                  select
                  from unnest(\(filter.actions)::text[]) as wanted (start)
                  where starts_with(action, wanted.start)
                )
              )
              and (\(filter.ticket)::text is null or ticket = \(filter.ticket))
              and (\(filter.since)::timestamptz is null or logged_at >= \(filter.since))
              and (\(filter.until)::timestamptz is null or logged_at < \(filter.until))
            order by logged_at desc, id desc
            limit \(filter.limit)
            """,
            on: connection
        )
    }

    /// The entry with a number; nil if there is none.
    ///
    /// - Throws: `PostgresError`.
    package static func entry(_ id: Int64, on connection: isolated Connection) throws -> Entry? {
        try read("where id = \(id)", on: connection).first
    }

    private static func read(_ clauses: Statement, on connection: isolated Connection) throws -> [Entry] {
        try connection.query(
            """
            select id, logged_at, operator, database_role::text, machine_user, ticket, action, reason, facts::text,
                   subject_key, subject_hash
            from accountctl.operator_log

            """ + clauses,
            into: Entry.init
        )
    }
}
