import ObjectStorage
package import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Collects everything that concerns an account into one archive, for the person's right of access (GDPR, article 15).
///
/// Rows are found by the catalog's foreign keys, see ``ExportPlan``, and read as of one moment; files by the rule of
/// ``AccountObjects``. What names the account without a foreign key is not found.
package struct AccountExport: Sendable {
    /// Why there is no archive.
    package enum Failure: Error, Sendable, Equatable {
        case unknownUser
        /// Tables whose rows our role does not see: an archive without them would be no answer.
        case unreadable([String])
        /// Storage cannot be used, now or as it is set.
        case storage(Situation)
        /// A file became somebody else's while its bytes were read into the archive.
        case fileChangedHands
    }

    private let pool: Pool
    private let storage: StorageGateway?
    private let folders: AvatarFolders

    /// - Parameters:
    ///   - pool: roles that row-level security does not bind.
    ///   - storage: nil to leave the bytes of files out.
    ///   - folders: which of the files of nobody that the profile names are the account's: anybody can name the app's.
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

    /// Writes the archive: a JSON array for each table with rows, the files, and at last `manifest.json`.
    ///
    /// - Parameters:
    ///   - user: the account.
    ///   - descriptor: an empty file, which is left without its end when this throws.
    ///   - now: what the manifest says of the time.
    ///   - progress: told how many files are done, of how many.
    /// - Returns: What it holds.
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
                // Files were found by the rows of a while ago, and Storage gives out by key whatever is there by now.
                if try await isOwn() {
                    try await Self.add(&manifest.files[index], number: index + 1, from: storage, to: &archive)
                    // One that is gone by now was the account's; one of another owner may have been theirs already.
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
        // Files take hours.
        let begun = try await pool.withConnection { try ExportSource.erasureBegun(of: user, on: $0) }
        // Of one that ended meanwhile nothing tells any more when it began.
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

    /// A table without rows gets no entry.
    private static func write(
        _ table: ExportSource.Table,
        to archive: inout TarWriter,
        on connection: isolated Connection
    ) throws -> ExportManifest.Table {
        var (rows, namingOthers) = (0, 0)
        try connection.stream(
            // The row, whatever its columns: the bare name would be a column of this name first. JSON goes as it is
            // written: not all of it is text to the server. Qualified, since a function of the app's for a row would
            // fit better.
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

    /// Adds a file, a part at a time.
    ///
    /// Keys are names that strangers gave: an entry is named by a number, and by as much of the key as is harmless.
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

    /// For tables that no index leads into.
    private static let patience = Duration.seconds(1800)
}
