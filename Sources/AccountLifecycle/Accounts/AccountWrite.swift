package import Postgres

/// What an operator's act writes in Supabase's own tables, on which an app may have triggers.
package enum AccountWrite: Sendable, Hashable {
    /// A row of `auth.users` is updated.
    case user
    /// Sessions are deleted, with the rows that their foreign keys delete.
    case sessions

    /// The triggers that these writes would fire and whose effects a rollback may not undo.
    ///
    /// If there is one, a dry run must not write and roll back.
    ///
    /// - Throws: `PostgresError`.
    package static func triggersOutside(
        of writes: Set<AccountWrite>,
        on connection: isolated Connection
    ) throws -> [DeletionCatalog.Trigger] {
        try DeletionCatalog.readTriggers(on: connection).filter { trigger in
            trigger.reachesOutside
                && (writes.contains(.user) && trigger.runsOnUpdate && trigger.table == .users
                    || writes.contains(.sessions) && trigger.runsOnDelete && goingWithSessions.contains(trigger.table))
        }
    }

    /// The tables whose rows are deleted along with a session.
    private static let goingWithSessions = Set(
        ["sessions", "refresh_tokens", "mfa_amr_claims"].map { TableName("auth", $0) }
    )
}
