import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Uploads in parts that nobody has finished: they never became objects, and the API that could name them needs keys of
/// another kind.
enum UnfinishedUploads {
    /// The account to which an upload `u` belongs, as text: without an owner, the account in whose folder it lies, as
    /// for an object.
    private static let owner: Statement = """
        coalesce(
            lower(nullif(u.owner_id, '')),
            case when strpos(u.key, '/') > 0 then lower(split_part(u.key, '/', 1)) end
        )
        """

    /// Deletes the uploads of accounts, except those in buckets that may keep them, and returns the account of each.
    static func deleting(of users: [UUID], keptBuckets: Set<String>) -> Statement {
        """
        delete from storage.s3_multipart_uploads as u
        using unnest(\(users.map(\.text))) as a (id)
        where a.id = \(owner)
          and u.bucket_id <> all(\(keptBuckets.sorted()))
        returning a.id
        """
    }

    /// The number of an account's unfinished uploads in each of some buckets.
    static func count(
        of user: UUID,
        in buckets: Set<String>,
        on connection: isolated Connection
    ) throws -> [String: Int] {
        let counts = try connection.query(
            """
            select u.bucket_id, count(*)
            from storage.s3_multipart_uploads as u
            where u.bucket_id = any(\(buckets.sorted()))
              and \(owner) = \(user.text)
            group by u.bucket_id
            """,
            as: (String, Int).self
        )
        return Dictionary(counts, uniquingKeysWith: +)
    }
}
