import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The locations of an account's rows and files in one snapshot.
struct ExportSource {
    struct Table {
        let name: TableName
        let number: Int
        /// The SQL after `from`.
        let rows: Statement
        /// The columns included in the archive.
        let columns: Statement
        /// An SQL expression: whether a row names another account too.
        let namesOthers: Statement
        let leftOut: [String]
        /// Columns whose values the archive has as text.
        let asText: [String]

        /// The entry's name; it is numbered, since the harmless characters of several tables' names may be the same.
        var file: String { "tables/\(number)-" + ExportSource.harmless(name.description) + ".json" }
    }

    let user: UUID
    let tables: [Table]
    let files: [ExportManifest.StoredFile]
    let profiles: DeletionCatalog.Profiles?
    let erasureBegunAt: Date?

    func manifest(_ tables: [ExportManifest.Table], exportedAt now: Date) -> ExportManifest {
        ExportManifest(
            account: user,
            exportedAt: now,
            erasureBegunAt: erasureBegunAt,
            tables: tables,
            files: files
        )
    }

    init(_ user: UUID, folders: AvatarFolders, on connection: isolated Connection) throws {
        guard try connection.one("select exists (select from auth.users where id = \(user))", as: Bool.self) else {
            throw AccountExport.Failure.unknownUser
        }
        self.user = user
        erasureBegunAt = try Self.erasureBegun(of: user, on: connection)
        let catalog = try DeletionCatalog.read(on: connection)
        let plan = ExportPlan(catalog)
        let unreadable = plan.tables.filter { table in
            catalog.rights[table].map { !$0.mayRead || $0.hidesRows } ?? false
        }
        if !unreadable.isEmpty { throw AccountExport.Failure.unreadable(unreadable.map(\.description)) }
        let columns = try Self.columns(of: plan.tables, on: connection)
        tables = plan.tables.enumerated().map { index, table in
            let isLeftOut = { ExportSecrets.holds($0, of: table) }
            let kept = (columns[table] ?? []).filter { !isLeftOut($0.name) }
            let values = kept.map(\.value)
            return Table(
                name: table,
                number: index + 1,
                rows: "\(table.quoted) as t where " + plan.condition(for: table, user: user),
                columns: values.dropFirst().reduce(values.first ?? "") { $0 + ", " + $1 },
                namesOthers: plan.namesOthers(table, than: user),
                leftOut: (columns[table] ?? []).map(\.name).filter(isLeftOut),
                asText: kept.filter(\.hasCast).map(\.name)
            )
        }
        profiles = catalog.profiles
        let hasStorage = try connection.one("select to_regclass('storage.objects') is not null", as: Bool.self)
        let objects =
            hasStorage
            ? try AccountObjects.find(of: [user], profiles: profiles, folders: folders, on: connection) : [:]
        // In a bucket that keeps versions, only the current ones.
        files = (objects[user]?.objects ?? []).filter { $0.place == .current }
            .map { ExportManifest.StoredFile(bucket: $0.bucket, key: $0.key) }
    }

    /// When the account was locked out for an erasure that can no longer be cancelled.
    ///
    /// It is the current time if the account is deleted and no open request records when.
    static func erasureBegun(of user: UUID, on connection: isolated Connection) throws -> Date? {
        try connection.one(
            """
            select coalesce(
                (
                    select r.locked_out_at
                    from accountctl.deletion_requests as r
                    where r.user_id = \(user)
                      and r.finished_at is null
                      and \(DeletionBrakes.isBegunForGood)
                ),
                case when not exists (select from auth.users where id = \(user)) then clock_timestamp() end
            )
            """,
            as: Date?.self
        )
    }

    /// The last 60 characters at most, restricted to those without a meaning to file systems and shells.
    static func harmless(_ name: String) -> String {
        let safe = name.map { character in
            character.isASCII && (character.isLetter || character.isNumber || "._-".contains(character))
                ? character : "_"
        }
        return String(safe.suffix(60))
    }

    private struct Column {
        let name: String
        let hasCast: Bool

        /// The column's value in the archive, under the column's name.
        var value: Statement {
            let column: Statement = "t.\(identifier: name)"
            return hasCast ? CastsToJSON.text(of: column) + " as \(identifier: name)" : column
        }
    }

    private static func columns(
        of tables: [TableName],
        on connection: isolated Connection
    ) throws -> [TableName: [Column]] {
        let rows = try connection.query(
            """
            select n.nspname::text, c.relname::text, a.attname::text, a.atttypid in (\(CastsToJSON.types))
            from unnest(\(tables.map(\.schema)), \(tables.map(\.name))) as w (schema, name)
            join pg_catalog.pg_namespace as n on n.nspname = w.schema
            join pg_catalog.pg_class as c on c.relnamespace = n.oid and c.relname = w.name
            join pg_catalog.pg_attribute as a on a.attrelid = c.oid
            where a.attnum > 0
              and not a.attisdropped
            order by a.attnum
            """,
            as: (String, String, String, Bool).self
        )
        return Dictionary(grouping: rows) { TableName($0.0, $0.1) }
            .mapValues { rows in rows.map { Column(name: $0.2, hasCast: $0.3) } }
    }
}
