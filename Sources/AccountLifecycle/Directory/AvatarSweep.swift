package import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Finds the avatars that accounts left behind when they took new ones, and has Storage delete them.
///
/// An object is left behind when it is an account's by the ownership rule (its owner; without one, the folder named by a user id), is
/// older than an age, and no profile names it, whoever's. Objects of nobody stay, and so do those of accounts under a legal hold and of
/// accounts with an open deletion, which has steps of its own for them.
package struct AvatarSweep: Sendable {
    /// An object that was left behind.
    package struct Leftover: Sendable, Equatable {
        package let key: String
        /// The account, which may be gone.
        package let account: String
        package let bytes: Int64
        package let changedAt: Date
    }

    /// What a sweep would delete.
    package struct Survey: Sendable, Equatable {
        package let objects: Int
        package let bytes: Int64
        package let accounts: Int
        /// The oldest, as many as were asked for.
        package let examples: [Leftover]
    }

    /// Why nothing can be told to be left behind.
    package enum Failure: Error, Sendable, Equatable {
        /// There is no `public.profiles` with `avatar_url`: nothing says which objects are in use.
        case noProfiles
        /// Our role does not see all rows of this table: what it does not see would look unused.
        case hiddenRows(String)
        /// Storage cannot be used now.
        case storage(String)
    }

    /// The most objects of one call to Storage.
    package static let batch = 500
    private static let bucket = "avatars"
    private static let patience = Duration.seconds(1800)

    private let before: Date

    /// - Parameter before: objects changed since then are left alone: an upload is not named yet.
    package init(before: Date) {
        self.before = before
    }

    /// Counts what was left behind; reads all objects of the bucket and all profiles.
    ///
    /// - Throws: ``Failure``, `PostgresError`.
    package func survey(examples: Int, on connection: isolated Connection) throws -> Survey {
        let leftovers = try leftovers(on: connection)
        let (objects, bytes, accounts) = try connection.one(
            "select count(*), coalesce(sum(bytes), 0)::bigint, count(distinct account) from (" + leftovers + ") as l",
            as: (Int, Int64, Int).self,
            deadline: Self.patience
        )
        let first = try connection.query(
            "select name, account, bytes, changed_at from (" + leftovers
                + ") as l order by changed_at, name limit \(examples)",
            as: (String, String, Int64, Date).self,
            deadline: Self.patience
        )
        return Survey(objects: objects, bytes: bytes, accounts: accounts, examples: first.map(Self.leftover))
    }

    /// The next objects by key; looked up again for each batch, since profiles change meanwhile.
    ///
    /// - Throws: ``Failure``, `PostgresError`.
    package func next(after key: String?, limit: Int, on connection: isolated Connection) throws -> [Leftover] {
        let start = key ?? ""
        return try connection.query(
            "select name, account, bytes, changed_at from (" + (try leftovers(on: connection))
                + ") as l where name collate \"C\" > \(start) order by name collate \"C\" limit \(limit)",
            as: (String, String, Int64, Date).self,
            deadline: Self.patience
        )
        .map(Self.leftover)
    }

    /// Has Storage delete objects, at most ``batch``.
    ///
    /// - Returns: the keys that have a row still.
    /// - Throws: ``Failure``, `PostgresError`, `CancellationError`.
    package static func delete(_ leftovers: [Leftover], by storage: StorageDoor, pool: Pool) async throws -> [String] {
        let keys = leftovers.map(\.key)
        if let situation = try await storage.delete(keys, in: bucket) {
            throw Failure.storage(situation.detail ?? situation.code.rawValue)
        }
        return try await pool.withConnection { connection in
            try AccountObjects.remaining(keys.map { StoredObject(bucket: bucket, key: $0) }, on: connection).map(\.key)
        }
    }

    /// The text with its percent-encoded bytes in clear.
    private static func unescaped(_ text: String) -> String {
        var bytes: [UInt8] = []
        var rest = Substring(text).utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let digits = String(rest.prefix(2)), digits.utf8.count == 2,
                let value = UInt8(digits, radix: 16)
            {
                rest = rest.dropFirst(2)
                bytes.append(value)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes.filter { $0 != 0 }, as: UTF8.self)
    }

    private static func leftover(_ row: (String, String, Int64, Date)) -> Leftover {
        Leftover(key: row.0, account: row.1, bytes: row.2, changedAt: row.3)
    }

    /// The objects, with what the other questions ask of them.
    ///
    /// A profile names an object by its key, by a URL that ends with it, or by such a URL with characters escaped. The last segment
    /// alone joins the two tables; what follows it in the URL does not matter.
    private func leftovers(on connection: isolated Connection) throws -> Statement {
        let catalog = try DeletionCatalog.read(on: connection)
        guard let profiles = catalog.profiles, profiles.hasAvatarURL else { throw Failure.noProfiles }
        for table in [profiles.table, TableName("storage", "objects")] where catalog.rights[table]?.hidesRows != false {
            throw Failure.hiddenRows(table.description)
        }
        let table: Statement = "\(identifier: profiles.table.schema).\(identifier: profiles.table.name)"
        let escaped = try connection.query(
            "select avatar_url from " + table + " where strpos(avatar_url, '%') > 0",
            as: String.self,
            deadline: Self.patience
        )
        return """
            with urls as (
                select avatar_url as url from \(table) where avatar_url <> ''
                union all
                select unnest(\(escaped.map(Self.unescaped)))
            ),
            named as (
                select url, regexp_replace(url, '^.*/', '') as last
                from (
                    select url from urls
                    union
                    select regexp_replace(url, '[?#].*$', '') from urls
                ) as spellings
            ),
            owned as (
                select o.name,
                       coalesce(
                           o.owner::text,
                           lower(nullif(o.owner_id, '')),
                           case
                               when split_part(o.name, '/', 1) ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
                                   then lower(split_part(o.name, '/', 1))
                           end
                       ) as account,
                       coalesce((o.metadata ->> 'size')::bigint, 0) as bytes,
                       greatest(o.created_at, o.updated_at) as changed_at
                from storage.objects as o
                where o.bucket_id = \(Self.bucket)
            )
            select name, account, bytes, changed_at
            from owned as o
            where changed_at < \(before)
              and account ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
              and not exists (
                  select
                  from named as n
                  where n.last = regexp_replace(o.name, '^.*/', '')
                    and right(n.url, length(o.name)) = o.name
              )
              and not exists (select from accountctl.holds as h where h.user_id::text = account)
              and not exists (
                  select
                  from accountctl.deletion_requests as r
                  where r.user_id::text = account
                    and r.finished_at is null
              )
            """
    }
}
