#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The identifiers to search for, and whose a match is.
struct SoughtIdentifiers: Sendable {
    /// The identifiers to search for in columns of numbers.
    let numbers: [String]
    let matcher: IdentifierMatcher
    /// For each identifier of the matcher: the target it belongs to, or nil for another account's user id.
    private let owners: [Int?]
    /// For each identifier of the matcher: other accounts that have it, too, as indices of their user ids in the
    /// matcher.
    private let sharers: [[Int]]

    /// - Parameters:
    ///   - targets: The accounts.
    ///   - holders: For identifiers that can be reused, the other accounts that have them now.
    init(_ targets: [SearchTarget], holders: [Identifier: Set<UUID>]) {
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

    /// The accounts' own identifiers.
    var identifiers: [Identifier] {
        matcher.identifiers.indices.filter { owners[$0] != nil }.map { matcher.identifiers[$0] }
    }

    /// An identifier in a column of a row.
    struct Hit: Hashable {
        /// The index of the identifier in the matcher.
        let identifier: Int
        /// The index of the column in the table.
        let column: Int
    }

    /// The identifiers in a row whose columns are joined by ``SearchStatements/separator``, each with how often it is
    /// there.
    func hits(in row: String) -> [Hit: Int] {
        var hits: [Hit: Int] = [:]
        var text = row
        text.withUTF8 { bytes in
            let row = UnsafeRawBufferPointer(bytes)
            // Each byte is looked at once, however often the row names an identifier.
            var (column, passed) = (0, 0)
            matcher.forEachMatch(in: row) { match in
                column += row[passed..<match.offset].lazy.filter { $0 == SearchStatements.separator }.count
                passed = match.offset
                hits[Hit(identifier: match.identifier, column: column), default: 0] += 1
            }
        }
        return hits
    }

    /// Decides which of the identifiers in one row are findings, and calls `found` for each with how often it is there.
    func judge(
        _ hits: [Hit: Int],
        of table: SearchCatalog.Table,
        _ found: (SearchTallies.Place, Identifier.Kind, Int) -> Void
    ) {
        let present = Set(hits.keys.map(\.identifier))
        for (hit, count) in hits {
            guard let target = owners[hit.identifier], present.isDisjoint(with: sharers[hit.identifier]) else {
                continue
            }
            let (identifier, column) = (matcher.identifiers[hit.identifier], table.columns[hit.column])
            // The row was sent because of another column.
            if column.form.isOfNumbers, identifier.number == nil { continue }
            found(SearchTallies.Place(target: target, column: table.columnName(column)), identifier.kind, count)
        }
    }
}
