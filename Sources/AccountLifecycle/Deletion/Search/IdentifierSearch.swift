import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Searches every readable column of a database for the identifiers of some accounts, in one pass over each table.
///
/// For few accounts, the server looks for the beginning of each identifier and sends only the rows that may contain
/// one. For many accounts, the server sends everything and the rows are examined here. Either way, what counts is
/// decided here, by one rule.
struct IdentifierSearch: Sendable {
    private let targets: [SearchTarget]
    private let sought: SoughtIdentifiers
    private let statements: SearchStatements

    /// Prepares a search.
    ///
    /// - Parameters:
    ///   - targets: The accounts.
    ///   - holders: For identifiers that can be reused, the other accounts that have them now: rows that name such an
    ///     account are that account's, and do not count. A person who signed up again is recognised in this way, too.
    ///   - keptBuckets: Buckets that may keep objects; their rows are not searched.
    init(
        _ targets: [SearchTarget],
        holders: [Identifier: Set<UUID>] = [:],
        keptBuckets: Set<String> = []
    ) {
        self.targets = targets
        sought = SoughtIdentifiers(targets, holders: holders)
        statements = SearchStatements(
            accounts: targets.map(\.userID),
            identifiers: sought.identifiers,
            numbers: sought.numbers,
            keptBuckets: keptBuckets
        )
    }

    /// Searches tables, each in a transaction of its own, so that whatever a transaction holds is held for one table
    /// only.
    ///
    /// - Throws: ``FailedSearch``; ``PostgresError`` if the connection is lost; `CancellationError`.
    func run(_ tables: [SearchCatalog.Table], on connection: isolated Connection) async throws -> SearchReport {
        var report = SearchReport()
        var tallies = SearchTallies()
        for table in tables {
            try Task.checkCancellation()
            var found: Found?
            do {
                found = try await searchAsItIsNow(table, on: connection)
            } catch let error as PostgresError where error.connectionUsable {
                throw FailedSearch(table: table.name.description, cause: error)
            }
            guard let found else { continue }
            tallies.add(found.tallies)
            report.othersFiles.merge(found.othersFiles, uniquingKeysWith: +)
            report.tables += 1
            report.columns += found.columns
        }
        report.findings = tallies.findings(of: targets)
        return report
    }

    /// Searches a table, even if it was renamed or altered since the catalog was read; nil if it has nothing to search
    /// any more.
    private func searchAsItIsNow(
        _ table: SearchCatalog.Table,
        on connection: isolated Connection
    ) async throws -> Found? {
        do {
            return try await search(table, on: connection)
        } catch let error as PostgresError
            where error.sqlState == .undefinedTable || error.sqlState == .undefinedColumn
        {
            guard let table = try await asItIsNow(table, error, on: connection) else { return nil }
            return try await search(table, on: connection)
        }
    }

    /// A table that was renamed or altered since the catalog was read; nil for one that was dropped.
    ///
    /// - Throws: `error` if it has another cause; ``PostgresError``.
    private func asItIsNow(
        _ table: SearchCatalog.Table,
        _ error: PostgresError,
        on connection: isolated Connection
    ) async throws -> SearchCatalog.Table? {
        let catalog = try await SearchCatalog.readApart(on: connection)
        if let now = catalog.tables.first(where: { $0.oid == table.oid }) { return now }
        let isThere = try connection.one(
            "select exists (select from pg_catalog.pg_class where oid = \(table.oid)::oid)",
            as: Bool.self
        )
        if isThere { throw error }
        return nil
    }

    /// How long one table may take.
    static let deadline = Duration.seconds(1800)

    /// The findings in one table.
    private struct Found: Sendable {
        var tallies = SearchTallies()
        /// As in ``SearchReport/othersFiles``.
        var othersFiles: [UUID: Int] = [:]
        let columns: Int
    }

    /// Searches a table; nil if it has nothing to search.
    private func search(_ table: SearchCatalog.Table, on connection: isolated Connection) async throws -> Found? {
        guard let table = sought.numbers.isEmpty ? table.withoutNumbers : table else { return nil }
        // With the session's search path: functions in the app's indexes are parsed with it when the table is planned,
        // and often name what they call without a schema. Calls in our own statements match the server's own functions
        // exactly, or are qualified.
        return try await connection.reading { connection -> Found in
            guard let files = table.files else { return try searchRows(of: table, on: connection) }
            return try search(files, in: table, on: connection)
        }
    }

    private func searchRows(of table: SearchCatalog.Table, on connection: isolated Connection) throws -> Found {
        var found = Found(columns: table.columns.count)
        try connection.stream(statements.rows(of: table), as: String.self, deadline: Self.deadline) { row in
            sought.judge(sought.hits(in: row), of: table) { found.tallies.add($1, $2, at: $0) }
        }
        try searchLongRows(of: table, on: connection) { hits, _ in
            sought.judge(hits, of: table) { found.tallies.add($1, $2, at: $0) }
        }
        return found
    }

    /// Searches the files of Storage, finished or not, whose names their uploaders choose.
    ///
    /// A file that another account owns is that account's, whomever its name mentions, and is only counted: otherwise
    /// any signed-in user could keep another's erasure from ending. The same holds for a delete marker that hides such
    /// a file.
    private func search(
        _ files: SearchCatalog.Files,
        in table: SearchCatalog.Table,
        on connection: isolated Connection
    ) throws -> Found {
        var matches: [(owner: UUID?, place: SearchTallies.Place, kind: Identifier.Kind, times: Int)] = []
        let owner: Statement =
            files == .objects
            ? """
            coalesce(
                nullif(searched.owner_id, ''),
                searched.owner::text,
                case
                    when \(AccountObjects.isMark("searched")) then (
                        select \(AccountObjects.owner)
                        from storage.objects as o
                        where o.bucket_id = searched.bucket_id
                          and o.name = searched.name
                          and \(AccountObjects.owner) is not null
                        limit 1
                    )
                end,
                ''
            )
            """ : "coalesce(searched.owner_id, '')"
        try connection.stream(
            statements.rows(of: table, besides: owner),
            as: (String, String).self,
            deadline: Self.deadline
        ) { row, owner in
            sought.judge(sought.hits(in: row), of: table) { matches.append((UUID(uuidString: owner), $0, $1, $2)) }
        }
        try searchLongRows(of: table, besides: owner, on: connection) { hits, owner in
            sought.judge(hits, of: table) { matches.append((UUID(uuidString: owner), $0, $1, $2)) }
        }
        let owners = Set(matches.compactMap(\.owner)).subtracting(targets.map(\.userID))
        let others =
            owners.isEmpty
            ? []
            : Set(try connection.query("select id from auth.users where id = any(\(Array(owners)))", as: UUID.self))
        var found = Found(columns: table.columns.count)
        for match in matches {
            if let owner = match.owner, others.contains(owner) {
                // A part is counted with its upload.
                if files != .parts {
                    found.othersFiles[targets[match.place.target].request, default: 0] += match.times
                }
            } else {
                found.tallies.add(match.kind, match.times, at: match.place)
            }
        }
        return found
    }

    /// Calls `found` for each long row with the hits in it, and with the value of `other` for the row.
    private func searchLongRows(
        of table: SearchCatalog.Table,
        besides other: Statement = "''",
        on connection: isolated Connection,
        _ found: ([SoughtIdentifiers.Hit: Int], String) -> Void
    ) throws {
        guard table.hasLongValues else { return }
        var row: (place: String, hits: [SoughtIdentifiers.Hit: Int], other: String)?
        try connection.stream(
            statements.pieces(of: table, besides: other),
            as: (String, Int32, Int32, [UInt8], String).self,
            deadline: Self.deadline
        ) { place, column, margin, bytes, other in
            if row?.place != place {
                if let row { found(row.hits, row.other) }
                row = (place, [:], other)
            }
            // A match that begins in a margin is counted in the piece in which it begins.
            let own = Int(margin)..<Int(margin) + SearchStatements.piece
            bytes.withUnsafeBytes { bytes in
                sought.matcher.forEachMatch(in: bytes) { match in
                    guard own.contains(match.offset) else { return }
                    let hit = SoughtIdentifiers.Hit(identifier: match.identifier, column: Int(column))
                    row?.hits[hit, default: 0] += 1
                }
            }
        }
        if let row { found(row.hits, row.other) }
    }
}
