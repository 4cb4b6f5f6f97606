package import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension AvatarSweep {
    private static let anyUserID = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"

    /// An object, with what a sweep would delete of it.
    struct Row {
        let key: String
        /// Whether it is the key's current version; a sweep ignores earlier ones.
        let isCurrent: Bool
        let leftover: Leftover?
    }

    /// The objects after a key, of any owner and age; not yet compared with what accounts name.
    func rows(after key: String?, on connection: isolated Connection) throws -> [Row] {
        try rows(of: page(after: key), on: connection)
    }

    func rows(of judged: Statement, on connection: isolated Connection) throws -> [Row] {
        try connection.query(
            judged,
            as: (String, String?, Int64, Date?, Bool, Bool?).self
        )
        .map { name, account, bytes, changedAt, isCurrent, isLeft in
            guard isCurrent, isLeft == true, let account, let changedAt else {
                return Row(key: name, isCurrent: isCurrent, leftover: nil)
            }
            return Row(
                key: name,
                isCurrent: true,
                leftover: Leftover(key: name, account: account, bytes: bytes, changedAt: changedAt)
            )
        }
    }

    /// The objects after a key, judged; of the last key, every version that the bucket keeps.
    package func page(after key: String?) -> Statement {
        judged(
            """
            o.name collate "C" > \(key ?? "")
            order by o.name collate "C"
            fetch first \(Self.page.objects) rows with ties
            """
        )
    }

    /// The objects with some keys, judged.
    func judged(only keys: [String]) -> Statement { judged("o.name = any(\(keys))") }

    /// Judges objects by scalar subqueries: with `exists`, the server would examine all holds and requests for each
    /// page.
    private func judged(_ clauses: Statement) -> Statement {
        """
        with page as materialized (
            select o.name,
                   coalesce(
                       \(AccountObjects.owner),
                       case
                           when lower(split_part(o.name, '/', 1)) ~ \(Self.anyUserID) then lower(split_part(o.name, '/', 1))
                       end
                   ) as account,
                   coalesce((o.metadata ->> 'size')::bigint, 0) as bytes,
                   greatest(o.created_at, o.updated_at) as changed_at,
                   -- A column, not a condition: the planner would expect that to match next to nothing, and not scan the
                   -- index in order.
                   \(AccountObjects.isCurrent) as is_current
            from storage.objects as o
            where o.bucket_id = \(AccountObjects.bucketOfProfiles)
              and \(clauses)
        ),
        owned as (
            select page.*, case when account ~ \(Self.anyUserID) then account::uuid end as user_id
            from page
        )
        select name, account, bytes, changed_at, is_current,
               user_id is not null
               and changed_at < \(before)
               and (select 1 from accountctl.holds as h where h.user_id = owned.user_id limit 1) is null
               and (
                   select 1
                   from accountctl.deletion_requests as r
                   where r.user_id = owned.user_id
                     and r.finished_at is null
                   limit 1
               ) is null
        from owned
        order by name collate "C"
        """
    }
}
