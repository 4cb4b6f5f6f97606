#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The account and the identifiers to search for on behalf of one deletion request.
package struct SearchTarget: Sendable, Hashable {
    /// The request.
    let request: UUID
    /// The account.
    package let userID: UUID
    /// Every identifier of the account, the user id first.
    let identifiers: [Identifier]

    package init(request: UUID, userID: UUID, identifiers: [Identifier]) {
        self.request = request
        self.userID = userID
        self.identifiers = [Identifier(userID: userID)] + identifiers.filter { $0.kind != .userID }
    }
}

/// The result of a search for each request that took part.
package struct SearchReport: Sendable, Hashable {
    /// Findings by request; a request without any is missing.
    var findings: [UUID: [Situation.Finding]]
    /// How many times files of other accounts name the account, by request; they belong to those accounts, and are no
    /// findings.
    var othersFiles: [UUID: Int]
    /// How many tables and columns were searched; what changed meanwhile counts each time.
    var tables: Int
    var columns: Int
    /// Tables and columns that were not searched.
    var unreadable: [SearchCatalog.Unreadable]

    init(
        findings: [UUID: [Situation.Finding]] = [:],
        othersFiles: [UUID: Int] = [:],
        tables: Int = 0,
        columns: Int = 0,
        unreadable: [SearchCatalog.Unreadable] = []
    ) {
        self.findings = findings
        self.othersFiles = othersFiles
        self.tables = tables
        self.columns = columns
        self.unreadable = unreadable
    }

    /// Forgets what was found in a table under the names that it had.
    mutating func forget(_ table: SearchCatalog.Table) {
        let columns = Set(table.columns.map(table.columnName))
        findings = findings.mapValues { $0.filter { !columns.contains($0.column) } }.filter { !$0.value.isEmpty }
    }

    /// Both reports as one; for a column that both report, the findings of the other one count.
    func merging(_ other: SearchReport) -> SearchReport {
        SearchReport(
            findings: findings.merging(other.findings) { mine, others in
                let columns = Set(others.map(\.column))
                return (mine.filter { !columns.contains($0.column) } + others).sorted()
            },
            othersFiles: othersFiles.merging(other.othersFiles, uniquingKeysWith: +),
            tables: tables + other.tables,
            columns: columns + other.columns,
            unreadable: unreadable + other.unreadable
        )
    }
}
