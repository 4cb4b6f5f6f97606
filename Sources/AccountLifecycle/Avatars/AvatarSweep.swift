import ObjectStorage
package import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Finds the avatars that accounts left behind when they chose new ones, and has Storage delete them.
///
/// An object is left behind if it is an account's by the ownership rule (its owner, or without one the folder named
/// after a user id), is older than a given age, and is named by no account in a text of ``AvatarTexts``. Objects that
/// belong to nobody stay, and so do those of accounts under a legal hold and of accounts with an open deletion, which
/// has steps of its own for them.
///
/// In a bucket that keeps versions, a leftover becomes an earlier version, as when its user deletes it; the bucket's
/// settings say how long versions are kept.
///
/// What accounts name is read once for all objects, and the objects are read in pages by key, so the cost grows
/// linearly with the number of objects.
package struct AvatarSweep: Sendable {
    /// An object that was left behind.
    package struct Leftover: Sendable, Equatable {
        package let key: String
        /// The id of the account, which may be deleted.
        package let account: String
        package let bytes: Int64
        package let changedAt: Date
    }

    /// What a sweep would delete.
    package struct Survey: Sendable, Equatable {
        package let objects: Int
        package let bytes: Int64
        package let accounts: Int
        /// The oldest leftovers, as many as requested.
        package let examples: [Leftover]
    }

    /// A batch of objects that were left behind.
    package struct Batch: Sendable, Equatable {
        /// Empty at the end.
        package let leftovers: [Leftover]
        /// The key after which to continue.
        package let cursor: String?
    }

    /// Why no object can be judged to be left behind.
    package enum Failure: Error, Sendable, Equatable {
        /// There is no `public.profiles` with `avatar_url`, so it is unknown which objects are in use.
        case noProfiles
        /// Our role does not see all rows of this table, so objects in use could look unused.
        case hiddenRows(String)
        /// Storage cannot be used now, or not as it is configured.
        case storage(Situation)
    }

    /// How many objects and accounts one statement reads.
    static let page = (objects: 500, accounts: 5000)

    let before: Date

    /// - Parameter before: objects changed since then are left alone, since a new upload may not be named yet.
    package init(before: Date) {
        self.before = before
    }

    /// Reads what all accounts name, in pages.
    ///
    /// - Throws: ``Failure``, `PostgresError`.
    package func names(on connection: isolated Connection) throws -> AvatarNames {
        let texts = try sources(on: connection)
        var gathered = AvatarNames.Texts()
        let pages: [(UUID?, Int) -> Statement] = [
            texts.profilePage(after:limit:), AvatarTexts.metadataPage(after:limit:),
        ]
        for page in pages {
            var last: UUID?
            while true {
                let rows = try connection.query(page(last, Self.page.accounts), as: (UUID, [String]).self)
                for text in rows.lazy.flatMap(\.1) { gathered.insert(text) }
                guard rows.count == Self.page.accounts else { break }
                last = rows.last?.0
            }
        }
        return AvatarNames(gathered)
    }

    /// Counts the objects that were left behind.
    ///
    /// - Throws: `PostgresError`.
    package func survey(
        examples: Int,
        except names: AvatarNames,
        on connection: isolated Connection
    ) throws -> Survey {
        var (objects, bytes, accounts) = (0, Int64(0), Set<Int>())
        var oldest: [Leftover] = []
        var last: String?
        while true {
            let page = try rows(after: last, on: connection)
            for leftover in page.compactMap(\.leftover) where !names.contains(leftover.key) {
                objects += 1
                bytes += leftover.bytes
                accounts.insert(leftover.account.hashValue)
                let place = oldest.firstIndex { $0.changedAt > leftover.changedAt } ?? oldest.count
                if place < examples { oldest.insert(leftover, at: place) }
                if oldest.count > examples { oldest.removeLast() }
            }
            guard page.count >= Self.page.objects else { break }
            last = page.last?.key
        }
        return Survey(objects: objects, bytes: bytes, accounts: accounts.count, examples: oldest)
    }

    /// The next leftovers by key, except those that their owners have named in the meantime.
    ///
    /// - Throws: ``Failure``, `PostgresError`.
    package func next(
        after key: String?,
        limit: Int,
        except names: AvatarNames,
        on connection: isolated Connection
    ) throws -> Batch {
        let texts = try sources(on: connection)
        var found: [Leftover] = []
        var cursor = key
        while true {
            let page = try rows(after: cursor, on: connection)
            let unused = page.compactMap(\.leftover).filter { !names.contains($0.key) }
            let leftovers = try unnamed(unused, texts, on: connection)
            if leftovers.count > limit {
                return found.isEmpty
                    ? Batch(leftovers: Array(leftovers.prefix(limit)), cursor: leftovers[limit - 1].key)
                    : Batch(leftovers: found, cursor: cursor)
            }
            if found.count + leftovers.count > limit { return Batch(leftovers: found, cursor: cursor) }
            found += leftovers
            cursor = page.last?.key ?? cursor
            guard page.count >= Self.page.objects, found.count < limit else {
                return Batch(leftovers: found, cursor: cursor)
            }
        }
    }

    /// The leftovers that their owners do not name now.
    private func unnamed(
        _ leftovers: [Leftover],
        _ texts: AvatarTexts,
        on connection: isolated Connection
    ) throws -> [Leftover] {
        guard !leftovers.isEmpty else { return [] }
        let owners = Array(Set(leftovers.compactMap { UUID(uuidString: $0.account) }))
        let newest = AvatarNames(try connection.query(texts.texts(of: owners), as: [String].self).joined())
        return leftovers.filter { !newest.contains($0.key) }
    }

    /// Has Storage delete those of some objects, at most `StorageClient.largestBatch`, that are still left behind.
    ///
    /// They were judged pages ago: one may have been uploaded again, named by its owner or put under a hold since, and
    /// Storage deletes by key.
    ///
    /// - Parameters:
    ///   - leftovers: as ``next(after:limit:except:on:)`` found them.
    ///   - storage: deletes them.
    ///   - pool: the connections on which they are judged again.
    ///   - check: runs right before each call; an error that it throws ends the sweep.
    ///   - record: gets the objects right before they are deleted, each once; what cannot be recorded is not deleted.
    /// - Returns: how many objects Storage was asked to delete, and how many of these still have a row.
    /// - Throws: ``Failure``, `PostgresError`, `CancellationError`.
    package func delete(
        _ leftovers: [Leftover],
        by storage: StorageGateway,
        pool: Pool,
        check: @escaping @Sendable (isolated Connection) throws -> Void,
        record: @escaping @Sendable ([Leftover], isolated Connection) throws -> Void
    ) async throws -> (asked: Int, stayed: Int) {
        var recorded: Set<String> = []
        let (deletion, trouble) = try await storage.delete(in: AccountObjects.bucketOfProfiles) {
            let keys = try await pool.withConnection { [recorded] connection -> [String] in
                try check(connection)
                let rows = try rows(of: judged(only: leftovers.map(\.key)), on: connection)
                let left = try unnamed(rows.compactMap(\.leftover), sources(on: connection), on: connection)
                let unrecorded = left.filter { !recorded.contains($0.key) }
                if !unrecorded.isEmpty { try record(unrecorded, connection) }
                return left.map(\.key)
            }
            recorded.formUnion(keys)
            return keys.map { StorageTarget($0) }
        }
        if let trouble { throw Failure.storage(trouble) }
        // A key withdrawn before the last call is meant to remain, so it does not count as left in place.
        let asked = deletion.asked.map(\.key).sorted()
        let last = Set(deletion.last.map(\.key))
        let left = try await pool.withConnection { connection -> [String] in
            try rows(of: judged(only: asked), on: connection).filter(\.isCurrent).map(\.key)
        }
        let stayed = left.count { last.contains($0) }
        return (asked.count - left.count + stayed, stayed)
    }

    /// The texts in which accounts name objects.
    ///
    /// - Throws: ``Failure`` if the database has no such texts, or hides some of them.
    private func sources(on connection: isolated Connection) throws -> AvatarTexts {
        guard let profiles = try DeletionCatalog.readProfiles(on: connection), profiles.hasAvatarURL else {
            throw Failure.noProfiles
        }
        for table in [profiles.table, .users, .files] {
            let hidesRows = try connection.one(
                "select coalesce(row_security_active(to_regclass(\(table.quoted.text))), true)",
                as: Bool.self
            )
            if hidesRows { throw Failure.hiddenRows(table.description) }
        }
        return AvatarTexts(profiles: profiles)
    }
}
