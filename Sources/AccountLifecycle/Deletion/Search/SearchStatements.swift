import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Builds the statements that send the rows which may contain an identifier, with their columns joined to one text.
struct SearchStatements: Sendable {
    /// Up to how many identifiers the server itself compares with each row.
    private static let serverSideLimit = 24

    /// Separates the columns of a row; a control character that text hardly ever contains.
    static let separator: UInt8 = 0x1F

    /// The user ids of the accounts.
    let accounts: [UUID]
    /// The accounts' identifiers.
    let identifiers: [Identifier]
    /// The identifiers to search for in columns of numbers.
    let numbers: [String]
    /// Buckets whose objects are not searched.
    let keptBuckets: Set<String>

    /// Selects rows of a table as text, and another expression for each: all rows, or those in which the server finds
    /// the beginning of an identifier; without long rows.
    func rows(of table: SearchCatalog.Table, besides other: Statement? = nil) -> Statement {
        let joined = Self.joining(table.columns) + (other.map { ", " + $0 } ?? "")
        let from = Self.rows(of: table)
        let kept = isSearched(table) + (table.hasLongValues ? " and not " + Self.isLong(table) : "")
        // The server compares numbers itself, however many identifiers there are.
        guard isLookedThroughByServer || table.columns.allSatisfy(\.form.isOfNumbers) else {
            return "select \(joined) from \(from) where \(kept)"
        }
        var conditions: [Statement] = []
        for column in table.columns {
            switch column.form {
            case .uuid: conditions.append("searched.\(identifier: column.name)::uuid = any(\(accounts))")
            case .uuidArray:
                conditions.append("searched.\(identifier: column.name)::uuid[] operator(pg_catalog.&&) \(accounts)")
            case .number: conditions.append("searched.\(identifier: column.name)::numeric = any(\(numbers)::numeric[])")
            case .numberArray:
                conditions.append(
                    "searched.\(identifier: column.name)::numeric[] operator(pg_catalog.&&) \(numbers)::numeric[]"
                )
            case .text: break
            }
        }
        let texts = table.columns.filter { $0.form == .text }
        guard !texts.isEmpty else { return "select \(joined) from \(from) where \(kept) and (\(Self.any(conditions)))" }
        // Measured: joining a row's columns and lower-casing them once (offset 0 keeps the planner from copying the
        // expression into each comparison) beats comparing each column, and the C collation lower-cases bytes instead
        // of characters.
        let text = Self.concatenation(of: texts.map(Self.reference), by: "' '")
        return """
            select \(joined) from \(from)
            cross join lateral (select lower(\(text) collate "C") collate "C" as lowered offset 0) as joined
            where \(kept) and (\(Self.any(conditions + [holdsABeginning])))
            """
    }

    /// The FROM item for a table's rows, as `searched`.
    static func rows(of table: SearchCatalog.Table) -> Statement {
        "\(table.name.rows(isPartitioned: false)) as searched"
    }

    /// The condition of rows that are searched at all: objects in buckets that may keep them are not residue.
    func isSearched(_ table: SearchCatalog.Table) -> Statement {
        table.files != nil && !keptBuckets.isEmpty
            ? "coalesce(searched.bucket_id, '') <> all(\(keptBuckets.sorted()))" : "true"
    }

    /// Whether there are few enough identifiers for the server to compare each row with them.
    var isLookedThroughByServer: Bool { identifiers.count <= Self.serverSideLimit }

    /// The condition that the text `joined.lowered` contains the beginning of an identifier.
    var holdsABeginning: Statement {
        Self.any(identifiers.flatMap(Self.starts).map { "strpos(joined.lowered, \($0) collate \"C\") > 0" })
    }

    /// The columns of a row as one text, separated by ``separator``: a separator in the text itself is replaced by a
    /// blank, since a person could otherwise disguise in which column something is.
    private static func joining(_ columns: [SearchCatalog.Column]) -> Statement {
        let separator = "chr(\(Self.separator))"
        let values = columns.map { column in
            // Not every collation supports searching in its texts.
            column.form == .text ? "replace(\(value(column)) collate \"C\", \(separator), ' ')" : value(column)
        }
        return concatenation(of: values, by: separator)
    }

    /// The value of a column as text; a NULL counts as empty, so that every row has as many separators.
    ///
    /// As the type's own output function writes it, which only a superuser can define. Never by a cast: the owner of a
    /// type, even of a composite one, can define a cast, and its function would run with our rights. Qualified, since a
    /// `public.concat` for the type itself would be a better match. Text stays as it is, so that its length is known
    /// without unpacking it.
    static func value(_ column: SearchCatalog.Column) -> String {
        let reference = reference(column)
        return column.isText ? "coalesce(\(reference)::text, '')" : "pg_catalog.concat(\(reference))"
    }

    private static func reference(_ column: SearchCatalog.Column) -> String {
        "searched.\(quoteIdentifier(column.name))"
    }

    /// Joins in groups, since a function takes at most a hundred arguments; the number of separators is the same either
    /// way.
    private static func concatenation(of values: [String], by separator: String) -> Statement {
        let groups = stride(from: 0, to: values.count, by: 50).map { start in
            joined(values[start..<min(start + 50, values.count)], by: separator)
        }
        return Statement(unsafeSQL: groups.count == 1 ? groups[0] : joined(groups[...], by: separator))
    }

    private static func joined(_ values: ArraySlice<String>, by separator: String) -> String {
        "pg_catalog.concat_ws(\(separator), \(values.joined(separator: ", ")))"
    }

    private static func any(_ conditions: [Statement]) -> Statement {
        conditions.dropFirst().reduce(conditions.first ?? "false") { $0 + " or " + $1 }
    }

    /// Texts with which the forms of an identifier begin, or which they contain: the server looks for these, and may
    /// send a few rows too many.
    private static func starts(of identifier: Identifier) -> [String] {
        switch identifier.kind {
        case .userID: [String(identifier.value.prefix(8))]
        // Contained in each of its forms.
        case .phone: [identifier.value]
        case .email, .providerID:
            starts(of: IdentifierPattern.patterns(of: identifier).map(\.bytes))
        }
    }

    /// How long the common beginning of spellings must be to search for it alone: a shorter one is found in too many
    /// rows.
    private static let longEnough = 8

    /// The common beginnings of spellings that begin alike for long enough, and the other spellings as they are: every
    /// further text costs the server another look at all the data.
    static func starts(of spellings: [[UInt8]]) -> [String] {
        var starts: [[UInt8]] = []
        for spelling in spellings {
            let common = starts.map { start in
                // Not into the middle of a character, where upper and lower case differ.
                Array(zip(start, spelling).prefix { $0 == $1 && $0 < 0x80 }.map(\.0))
            }
            if let index = common.firstIndex(where: { $0.count >= longEnough }) {
                starts[index] = common[index]
            } else {
                starts.append(spelling)
            }
        }
        return starts.map { String(decoding: $0, as: UTF8.self) }
    }
}
