import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The ban of a lock-out, distinguished by its end from a ban that somebody else set.
enum LockOutBan {
    /// How long the ban lasts from the lock-out on: finite, since Supabase's auth server cannot read an infinite one;
    /// in hours, which are as long in every time zone.
    static let length: Statement = "interval '87660 hours'"

    /// Undoes the ban of a cancelled request; a ban that was lifted or replaced since is left as it is.
    static func takeBack(of request: UUID, on connection: isolated Connection) throws {
        try connection.execute(
            """
            update auth.users as u
            set banned_until = r.banned_until_before
            from accountctl.deletion_requests as r
            where r.id = \(request)
              and u.id = r.user_id
              and u.banned_until = r.locked_out_at + \(length)
            """
        )
    }
}
