import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The auth server's unfinished sign-ins and identity links, which no foreign key ties to an account.
enum AuthFlows {
    /// The statement that deletes the flows of accounts, and flows that would link an identity to one, and returns the
    /// account of each.
    ///
    /// With `onlyOpen`, only those links are deleted that can still be completed, which an index finds: a link is valid
    /// for minutes.
    static func deleting(of users: [UUID], onlyOpen: Bool, on connection: isolated Connection) throws -> Statement {
        // Older auth servers have no such column.
        let hasLinks = try connection.one(
            """
            select exists (
                select
                from pg_catalog.pg_attribute
                where attrelid = 'auth.flow_state'::regclass
                  and attname = 'linking_target_id'
                  and not attisdropped
            )
            """,
            as: Bool.self
        )
        guard hasLinks else {
            return "delete from auth.flow_state where user_id = any(\(users)) returning user_id::text"
        }
        let open: Statement = onlyOpen ? "and created_at > clock_timestamp() - interval '1 day'" : ""
        return """
            delete from auth.flow_state
            where user_id = any(\(users))
               or linking_target_id = any(\(users)) \(open)
            returning (case when user_id = any(\(users)) then user_id else linking_target_id end)::text
            """
    }
}
