package import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Searches every readable column of a database for the identifiers of some accounts, in one pass over each table.
///
/// Few accounts: the server looks for the beginning of each identifier and sends only the rows that may hold one. Many
/// accounts: the server sends everything, and it is looked through here. Either way what comes is judged here, by one
/// rule.
package struct IdentifierSearch: Sendable {
    /// Up to how many identifiers the server itself compares each row with.
    package static let serverSideLimit = 24

    private let targets: [SearchTarget]
    /// What is searched for in columns of numbers.
    private let numbers: [String]
    let matcher: IdentifierMatcher
    /// For each identifier of the matcher: the target it belongs to, or nil for another account's user id.
    private let owners: [Int?]
    /// For each identifier of the matcher: other accounts that hold it too, as indices of their user ids in the
    /// matcher.
    private let sharers: [[Int]]
    /// Buckets whose objects are not searched.
    private let keptBuckets: Set<String>

    /// Prepares a search.
    ///
    /// - Parameters:
    ///   - targets: The accounts.
    ///   - holders: For identifiers that can be used again, the other accounts that hold them now: rows that name such
    ///     an
    ///     account are that account's, and do not count. A person who signed up again is found so, too.
    ///   - keptBuckets: Buckets that may keep objects; their rows are not searched.
    package init(
        _ targets: [SearchTarget],
        holders: [Identifier: Set<UUID>] = [:],
        keptBuckets: Set<String> = []
    ) {
        self.keptBuckets = keptBuckets
        self.targets = targets
        var identifiers: [Identifier] = []
        var owners: [Int?] = []
        for (index, target) in targets.enumerated() {
            for identifier in target.identifiers where identifier.isSearchable {
                identifiers.append(identifier)
                owners.append(index)
            }
        }
        numbers = Set(identifiers.compactMap(\.number)).sorted()
        var others: [UUID: Int] = [:]
        for account in holders.values.joined() where others[account] == nil {
            others[account] = identifiers.count
            identifiers.append(Identifier(userID: account))
            owners.append(nil)
        }
        sharers = zip(identifiers, owners).map { identifier, owner in
            guard let owner, identifier.canBeUsedAgain else { return [] }
            return (holders[identifier] ?? []).subtracting([targets[owner].userID]).compactMap { others[$0] }
        }
        self.owners = owners
        matcher = IdentifierMatcher(identifiers)
    }

    /// Searches tables.
    ///
    /// - Throws: ``PostgresError``; `CancellationError` between tables.
    package func run(_ tables: [SearchCatalog.Table], on connection: isolated Connection) throws -> SearchReport {
        var report = SearchReport()
        var tallies: [Place: Tally] = [:]
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
        for (place, tally) in tallies {
            report.findings[targets[place.target].request, default: []].append(
                Situation.Finding(column: place.column, identifiers: tally.kinds.sorted(), count: tally.count)
            )
        }
        for request in report.findings.keys { report.findings[request]?.sort() }
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

    private struct Place: Hashable {
        let target: Int
        let column: String
    }

    private struct Tally {
        private(set) var kinds: Set<Identifier.Kind> = []
        private(set) var count = 0

        mutating func add(_ kind: Identifier.Kind) {
            kinds.insert(kind)
            count += 1
        }
    }

    /// How long one table may take.
    static let deadline = Duration.seconds(1800)

    /// Stands between the columns of a row; a control character that text hardly ever holds.
    private static let separator: UInt8 = 0x1F

    private func search(
        _ table: SearchCatalog.Table,
        on connection: isolated Connection,
        into tallies: inout [Place: Tally],
        _ report: inout SearchReport
    ) throws {
        guard let table = numbers.isEmpty ? table.withoutNumbers : table else { return }
        if let files = table.files {
            try search(files, in: table, on: connection, into: &tallies, othersFiles: &report.othersFiles)
        } else {
            try connection.stream(statement(for: table), as: String.self, deadline: Self.deadline) { row in
                judge(hits(in: row), of: table) { place, kind in tallies[place, default: Tally()].add(kind) }
            }
            try searchLongRows(of: table, on: connection) { hits, _ in
                judge(hits, of: table) { place, kind in tallies[place, default: Tally()].add(kind) }
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
        into tallies: inout [Place: Tally],
        othersFiles: inout [UUID: Int]
    ) throws {
        var found: [(owner: UUID?, place: Place, kind: Identifier.Kind)] = []
        let owner: Statement =
            files == .objects
            ? "coalesce(nullif(searched.owner_id, ''), searched.owner::text, '')" : "coalesce(searched.owner_id, '')"
        try connection.stream(
            statement(for: table, besides: owner),
            as: (String, String).self,
            deadline: Self.deadline
        ) { row, owner in
            judge(hits(in: row), of: table) { found.append((UUID(uuidString: owner), $0, $1)) }
        }
        try searchLongRows(of: table, besides: owner, on: connection) { hits, owner in
            judge(hits, of: table) { found.append((UUID(uuidString: owner), $0, $1)) }
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
                tallies[match.place, default: Tally()].add(match.kind)
            }
        }
    }

    /// An identifier in a row.
    struct Hit {
        /// The index of the identifier in the matcher.
        let identifier: Int
        /// The index of the column in the table.
        let column: Int
    }

    /// What is in a row whose columns are joined by ``separator``.
    private func hits(in row: String) -> [Hit] {
        var hits: [Hit] = []
        var text = row
        text.withUTF8 { bytes in
            let row = UnsafeRawBufferPointer(bytes)
            matcher.forEachMatch(in: row) { match in
                let column = row[..<match.offset].lazy.filter { $0 == Self.separator }.count
                hits.append(Hit(identifier: match.identifier, column: column))
            }
        }
        return hits
    }

    /// Judges what is in one row.
    private func judge(_ hits: [Hit], of table: SearchCatalog.Table, _ found: (Place, Identifier.Kind) -> Void) {
        let present = Set(hits.map(\.identifier))
        for hit in hits {
            guard let target = owners[hit.identifier], present.isDisjoint(with: sharers[hit.identifier]) else {
                continue
            }
            let (identifier, column) = (matcher.identifiers[hit.identifier], table.columns[hit.column])
            // The row was sent for something else.
            if column.form.isOfNumbers, identifier.number == nil { continue }
            found(Place(target: target, column: "\(table.schema).\(table.name).\(column.name)"), identifier.kind)
        }
    }

    /// Rows of a table as text, and something else of them: all rows, or those in which the server sees the beginning
    /// of an identifier, without long rows.
    private func statement(for table: SearchCatalog.Table, besides other: Statement? = nil) -> Statement {
        let joined = Self.joining(table.columns) + (other.map { ", " + $0 } ?? "")
        let from = Self.rows(of: table)
        let kept = isSearched(table) + (table.hasLongValues ? " and not " + Self.isLong(table) : "")
        // What is compared as a number need not be sent to be looked through.
        guard isLookedThroughByServer || table.columns.allSatisfy(\.form.isOfNumbers) else {
            return "select \(joined) from \(from) where \(kept)"
        }
        var conditions: [Statement] = []
        let ids = targets.map(\.userID)
        for column in table.columns {
            switch column.form {
            case .uuid: conditions.append("searched.\(identifier: column.name)::uuid = any(\(ids))")
            case .uuidArray: conditions.append("searched.\(identifier: column.name)::uuid[] && \(ids)")
            case .number: conditions.append("searched.\(identifier: column.name)::numeric = any(\(numbers)::numeric[])")
            case .numberArray:
                conditions.append("searched.\(identifier: column.name)::numeric[] && \(numbers)::numeric[]")
            case .text: break
            }
        }
        let texts = table.columns.filter { $0.form == .text }
        guard !texts.isEmpty else { return "select \(joined) from \(from) where \(kept) and (\(Self.any(conditions)))" }
        // Measured: joining a row's columns and lowering them once (offset 0 keeps the planner from copying the
        // expression into each comparison) beats comparing each column, and the C collation lowers bytes instead of
        // characters.
        let text = Self.concatenation(of: texts.map(Self.value), by: "' '")
        return """
            select \(joined) from \(from)
            cross join lateral (select lower(\(text) collate "C") collate "C" as lowered offset 0) as joined
            where \(kept) and (\(Self.any(conditions + [holdsABeginning])))
            """
    }

    /// A table's rows, as `searched`.
    static func rows(of table: SearchCatalog.Table) -> Statement {
        "only \(identifier: table.schema).\(identifier: table.name) as searched"
    }

    /// The condition of rows that are searched at all: objects of buckets that may keep them are no residue.
    func isSearched(_ table: SearchCatalog.Table) -> Statement {
        table.files != nil && !keptBuckets.isEmpty
            ? "coalesce(searched.bucket_id, '') <> all(\(keptBuckets.sorted()))" : "true"
    }

    /// Whether they are few enough for the server to compare each row with.
    var isLookedThroughByServer: Bool { sought.count <= Self.serverSideLimit }

    private var sought: [Identifier] {
        matcher.identifiers.indices.filter { owners[$0] != nil }.map { matcher.identifiers[$0] }
    }

    /// The condition that the text `joined.lowered` has the beginning of an identifier in it.
    var holdsABeginning: Statement {
        Self.any(sought.flatMap(Self.starts).map { "strpos(joined.lowered, \($0) collate \"C\") > 0" })
    }

    /// The columns of a row as one text, told apart by ``separator``: one in the text itself is replaced by a blank, or
    /// a person could hide in which column it stands.
    private static func joining(_ columns: [SearchCatalog.Column]) -> Statement {
        let separator = "chr(\(Self.separator))"
        let values = columns.map { column in
            // Not every collation lets search in its texts.
            column.form == .text ? "replace(\(value(column)) collate \"C\", \(separator), ' ')" : value(column)
        }
        return concatenation(of: values, by: separator)
    }

    /// The value of a column as text; a NULL counts as empty, so that every row has as many separators.
    static func value(_ column: SearchCatalog.Column) -> String {
        "coalesce(searched.\(quoteIdentifier(column.name))::text, '')"
    }

    /// In groups, since a function takes at most a hundred arguments; there are as many separators either way.
    private static func concatenation(of values: [String], by separator: String) -> Statement {
        let groups = stride(from: 0, to: values.count, by: 50).map { start in
            "concat_ws(\(separator), \(values[start..<min(start + 50, values.count)].joined(separator: ", ")))"
        }
        return Statement(
            unsafeSQL: groups.count == 1 ? groups[0] : "concat_ws(\(separator), \(groups.joined(separator: ", ")))"
        )
    }

    private static func any(_ conditions: [Statement]) -> Statement {
        conditions.dropFirst().reduce(conditions.first ?? "false") { $0 + " or " + $1 }
    }

    /// What the forms of an identifier begin with: the server looks for that, and may send a few rows too many.
    private static func starts(of identifier: Identifier) -> [String] {
        switch identifier.kind {
        case .userID: [String(identifier.value.prefix(8))]
        case .email, .phone, .providerID:
            starts(of: IdentifierPattern.patterns(of: identifier).map(\.bytes))
        }
    }

    /// How much spellings must have in common to be looked for by that: less is found in too many rows.
    private static let longEnough = 8

    /// What the spellings have in common, or each: every one more costs the server a look at all there is.
    private static func starts(of spellings: [[UInt8]]) -> [String] {
        let common = spellings.dropFirst().reduce(spellings.first ?? []) { common, spelling in
            // Not into the middle of a character, where the cases of one differ.
            Array(zip(common, spelling).prefix { $0 == $1 && $0 < 0x80 }.map(\.0))
        }
        return (common.count >= longEnough ? [common] : spellings).map { String(decoding: $0, as: UTF8.self) }
    }
}
