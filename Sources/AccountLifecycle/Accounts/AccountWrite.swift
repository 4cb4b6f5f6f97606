package import Postgres

/// What an operator's act writes of Supabase's own tables, where an app may have triggers.
package enum AccountWrite: Sendable, Hashable {
    /// A row of `auth.users` is updated.
    case user
    /// Sessions are deleted, with what goes along.
    case sessions

    /// The triggers that some writes would fire and that may do what no rollback takes back: where there is one, a dry
    /// run is not to write and undo.
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

    /// Where rows go with a session.
    private static let goingWithSessions = Set(
        ["sessions", "refresh_tokens", "mfa_amr_claims"].map { TableName("auth", $0) }
    )
}
