import ObjectStorage
package import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Collects everything that concerns an account into one archive, for the person's right of access (GDPR, article 15).
///
/// Rows are found by the catalog's foreign keys, see ``ExportPlan``, and read from one snapshot; files by the rule of
/// ``AccountObjects``. Data that refers to the account without a foreign key is not found.
package struct AccountExport: Sendable {
    /// Why there is no archive.
    package enum Failure: Error, Sendable, Equatable {
        case unknownUser
        /// Our role does not see all rows of these tables; an archive without them would be incomplete.
        case unreadable([String])
        /// Storage cannot be used now, or not as it is configured.
        case storage(Situation)
        /// A file came to belong to somebody else while it was being copied into the archive.
        case fileChangedHands
    }

    private let pool: Pool
    private let storage: StorageGateway?
    private let folders: AvatarFolders

    /// - Parameters:
    ///   - pool: connections of a role that is exempt from row-level security.
    ///   - storage: nil to leave out the contents of files.
    ///   - folders: which of the unowned files that the profile names are the account's, since anybody can name the
    ///     app's.
    package init(pool: Pool, storage: StorageGateway?, folders: AvatarFolders = AvatarFolders()) {
        self.pool = pool
        self.storage = storage
        self.folders = folders
    }

    /// Counts what an archive would hold.
    ///
    /// - Throws: ``Failure``, `PostgresError`.
    package func survey(_ user: UUID, now: Date) async throws -> ExportManifest {
        try await pool.reading(isolation: .repeatableRead) { connection -> ExportManifest in
            let source = try ExportSource(user, folders: folders, on: connection)
            let tables = try source.tables.map { table in
                ExportManifest.Table(
                    table,
                    counting: try connection.one(
                        "select count(*), count(*) filter (where \(table.namesOthers)) from " + table.rows,
                        as: (Int, Int).self,
                        deadline: Self.patience
                    )
                )
            }
            return source.manifest(tables, exportedAt: now)
        }
    }

    /// Writes the archive: a JSON array for each table with rows, the files, and finally `manifest.json`.
    ///
    /// - Parameters:
    ///   - user: the account.
    ///   - descriptor: an empty file, which is left incomplete if this throws.
    ///   - now: the time for the manifest.
    ///   - progress: called with how many files are done, of how many.
    /// - Returns: The manifest of the archive.
    /// - Throws: ``Failure``, `PostgresError`, `TarWriter.Failure`, `CancellationError`.
    package func write(
        _ user: UUID,
        to descriptor: Int32,
        now: Date,
        progress: (_ done: Int, _ all: Int) async throws -> Void = { _, _ in }
    ) async throws -> ExportManifest {
        var (archive, manifest, profiles) = try await pool.reading(isolation: .repeatableRead) {
            connection -> (TarWriter, ExportManifest, DeletionCatalog.Profiles?) in
            var archive = TarWriter(descriptor: descriptor, modifiedAt: now)
            let source = try ExportSource(user, folders: folders, on: connection)
            let tables = try source.tables.map { try Self.write($0, to: &archive, on: connection) }
            return (archive, source.manifest(tables, exportedAt: now), source.profiles)
        }
        if let storage {
            for index in manifest.files.indices {
                let file = manifest.files[index]
                let isOwn = { [pool, profiles, folders] in
                    let object = StoredObject(bucket: file.bucket, key: file.key)
                    return try await pool.withConnection { connection in
                        try AccountObjects.stillOwned(
                            [object],
                            by: user,
                            profiles: profiles,
                            folders: folders,
                            on: connection
                        )
                        .contains { $0.place == .current }
                    }
                }
                // The files were found in an older snapshot, and Storage returns by key whatever is there now.
                if try await isOwn() {
                    try await Self.add(&manifest.files[index], number: index + 1, from: storage, to: &archive)
                    // A file deleted since then was the account's; one with another owner may already have been theirs
                    // when it was read.
                    if manifest.files[index].file != nil, try await isAnothers(file, than: user) {
                        throw Failure.fileChangedHands
                    }
                } else {
                    manifest.files[index].missing = .noLongerOwned
                }
                try await progress(index + 1, manifest.files.count)
            }
        } else {
            for index in manifest.files.indices { manifest.files[index].missing = .leftOut }
        }
        // Read again, since copying files may take hours.
        let begun = try await pool.withConnection { try ExportSource.erasureBegun(of: user, on: $0) }
        // If the erasure ended in the meantime, its start is no longer recorded; the earlier of the two times is kept.
        manifest.erasureBegunAt = begun.map { min($0, manifest.erasureBegunAt ?? $0) }
        try archive.begin("manifest.json")
        try archive.write(manifest.json())
        _ = try archive.end()
        try archive.finish()
        return manifest
    }

    private func isAnothers(_ file: ExportManifest.StoredFile, than user: UUID) async throws -> Bool {
        let id = user.text
        return try await pool.withConnection { connection in
            try connection.one(
                """
                select exists (
                    select
                    from storage.objects as o
                    where o.bucket_id = \(file.bucket)
                      and o.name = \(file.key)
                      and \(AccountObjects.owner) <> \(id)
                      and \(AccountObjects.isCurrent)
                )
                """,
                as: Bool.self
            )
        }
    }

    /// Writes a table's entry; a table without rows gets none.
    private static func write(
        _ table: ExportSource.Table,
        to archive: inout TarWriter,
        on connection: isolated Connection
    ) throws -> ExportManifest.Table {
        var (rows, namingOthers) = (0, 0)
        try connection.stream(
            // A subquery's row: the bare name would resolve to a column of this name first. The JSON is taken as it is
            // written, since the server cannot decode all of it as text. The call is qualified, since an app's function
            // for a row type would fit better.
            """
            select (select pg_catalog.to_json(kept.*)::text from (select \(table.columns)) as kept), \(table.namesOthers)
            from \(table.rows)
            """,
            as: (String, Bool).self,
            deadline: patience
        ) { row, namesOthers in
            if rows == 0 { try archive.begin(table.file) }
            try archive.write((rows == 0 ? "[\n" : ",\n").utf8)
            try archive.write(row.utf8)
            rows += 1
            if namesOthers { namingOthers += 1 }
        }
        var entry = ExportManifest.Table(table, counting: (rows, namingOthers))
        guard rows > 0 else { return entry }
        try archive.write("\n]\n".utf8)
        let written = try archive.end()
        entry.file = written.name
        entry.bytes = written.bytes
        entry.sha256 = written.sha256
        return entry
    }

    /// Adds a file in chunks.
    ///
    /// Keys are names chosen by strangers, so the entry is named by a number and the harmless characters of the key.
    private static func add(
        _ file: inout ExportManifest.StoredFile,
        number: Int,
        from storage: StorageGateway,
        to archive: inout TarWriter
    ) async throws {
        var cursor: StoragePart.Cursor?
        repeat {
            switch try await storage.read(file.key, in: file.bucket, from: cursor) {
            case .part(let part):
                if cursor == nil {
                    let last = file.key.split(separator: "/").last.map(String.init) ?? ""
                    try archive.begin("files/\(number)-" + ExportSource.harmless(last))
                }
                try archive.write(part.bytes)
                cursor = part.next
            case .gone:
                file.missing = .noBytes
                return
            case .unaddressable:
                file.missing = .unaddressable
                return
            case .trouble(let situation): throw Failure.storage(situation)
            }
        } while cursor != nil
        let written = try archive.end()
        file.file = written.name
        file.bytes = written.bytes
        file.sha256 = written.sha256
    }

    /// The time limit for tables that are read without an index.
    private static let patience = Duration.seconds(1800)
}
