import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Searches every readable column of a database for the identifiers of some accounts, in one pass over each table.
///
/// Few accounts: the server looks for the beginning of each identifier and sends only the rows that may hold one. Many
/// accounts: the server sends everything, and it is looked through here. Either way what comes is judged here, by one
/// rule.
struct IdentifierSearch: Sendable {
    private let targets: [SearchTarget]
    private let sought: SoughtIdentifiers
    private let statements: SearchStatements

    /// Prepares a search.
    ///
    /// - Parameters:
    ///   - targets: The accounts.
    ///   - holders: For identifiers that can be used again, the other accounts that hold them now: rows that name such
    ///     an account are that account's, and do not count. A person who signed up again is found so, too.
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

    /// Searches tables.
    ///
    /// - Throws: ``PostgresError``; `CancellationError` between tables.
    func run(_ tables: [SearchCatalog.Table], on connection: isolated Connection) throws -> SearchReport {
        var report = SearchReport()
        var tallies = SearchTallies()
        for table in tables {
            try Task.checkCancellation()
            let before = (tallies, report)
            do {
                try search(table, on: connection, into: &tallies, &report)
            } catch let error as PostgresError
                where error.sqlState == .undefinedTable || error.sqlState == .undefinedColumn
            {
                (tallies, report) = before
                guard let table = try asItIsNow(table, error, on: connection) else { continue }
                try search(table, on: connection, into: &tallies, &report)
            }
        }
        report.findings = tallies.findings(of: targets)
        return report
    }

    /// A table that was renamed or altered since the catalog was read; nil for one that was dropped.
    ///
    /// - Throws: `error` where it says something else; ``PostgresError``.
    private func asItIsNow(
        _ table: SearchCatalog.Table,
        _ error: PostgresError,
        on connection: isolated Connection
    ) throws -> SearchCatalog.Table? {
        if let now = try SearchCatalog.read(on: connection).tables.first(where: { $0.oid == table.oid }) { return now }
        let isThere = try connection.one(
            "select exists (select from pg_catalog.pg_class where oid = \(table.oid)::oid)",
            as: Bool.self
        )
        if isThere { throw error }
        return nil
    }

    /// How long one table may take.
    static let deadline = Duration.seconds(1800)

    private func search(
        _ table: SearchCatalog.Table,
        on connection: isolated Connection,
        into tallies: inout SearchTallies,
        _ report: inout SearchReport
    ) throws {
        guard let table = sought.numbers.isEmpty ? table.withoutNumbers : table else { return }
        if let files = table.files {
            try search(files, in: table, on: connection, into: &tallies, othersFiles: &report.othersFiles)
        } else {
            try connection.stream(statements.rows(of: table), as: String.self, deadline: Self.deadline) { row in
                sought.judge(sought.hits(in: row), of: table) { tallies.add($1, at: $0) }
            }
            try searchLongRows(of: table, on: connection) { hits, _ in
                sought.judge(hits, of: table) { tallies.add($1, at: $0) }
            }
        }
        report.tables += 1
        report.columns += table.columns.count
    }

    /// Searches the files of Storage, finished or not, whose names are their uploaders' to choose.
    ///
    /// One that somebody else owns is somebody else's, whomever it names, and only counted: otherwise anybody who is
    /// signed in could keep another's erasure from its end.
    private func search(
        _ files: SearchCatalog.Files,
        in table: SearchCatalog.Table,
        on connection: isolated Connection,
        into tallies: inout SearchTallies,
        othersFiles: inout [UUID: Int]
    ) throws {
        var found: [(owner: UUID?, place: SearchTallies.Place, kind: Identifier.Kind)] = []
        let owner: Statement =
            files == .objects
            ? "coalesce(nullif(searched.owner_id, ''), searched.owner::text, '')" : "coalesce(searched.owner_id, '')"
        try connection.stream(
            statements.rows(of: table, besides: owner),
            as: (String, String).self,
            deadline: Self.deadline
        ) { row, owner in
            sought.judge(sought.hits(in: row), of: table) { found.append((UUID(uuidString: owner), $0, $1)) }
        }
        try searchLongRows(of: table, besides: owner, on: connection) { hits, owner in
            sought.judge(hits, of: table) { found.append((UUID(uuidString: owner), $0, $1)) }
        }
        let owners = Set(found.compactMap(\.owner)).subtracting(targets.map(\.userID))
        let others =
            owners.isEmpty
            ? []
            : Set(try connection.query("select id from auth.users where id = any(\(Array(owners)))", as: UUID.self))
        for match in found {
            if let owner = match.owner, others.contains(owner) {
                // A part is told with its upload.
                if files != .parts { othersFiles[targets[match.place.target].request, default: 0] += 1 }
            } else {
                tallies.add(match.kind, at: match.place)
            }
        }
    }

    /// Calls `found` for each long row with what is in it, and with something else of the row.
    private func searchLongRows(
        of table: SearchCatalog.Table,
        besides other: Statement = "''",
        on connection: isolated Connection,
        _ found: ([SoughtIdentifiers.Hit], String) -> Void
    ) throws {
        guard table.hasLongValues else { return }
        var row: (place: String, hits: [SoughtIdentifiers.Hit], other: String)?
        try connection.stream(
            statements.pieces(of: table, besides: other),
            as: (String, Int32, Int32, [UInt8], String).self,
            deadline: Self.deadline
        ) { place, column, margin, bytes, other in
            if row?.place != place {
                if let row { found(row.hits, row.other) }
                row = (place, [], other)
            }
            // What begins in a margin begins in another piece.
            let own = Int(margin)..<Int(margin) + SearchStatements.piece
            bytes.withUnsafeBytes { bytes in
                sought.matcher.forEachMatch(in: bytes) { match in
                    guard own.contains(match.offset) else { return }
                    row?.hits.append(SoughtIdentifiers.Hit(identifier: match.identifier, column: Int(column)))
                }
            }
        }
        if let row { found(row.hits, row.other) }
    }
}
