extension Migration {
    /// The locks on tables outside the private schema that this migration takes, as far as its text shows them.
    ///
    /// Decisions inside blocks of procedural code are not visible here; `AdoptionPlan` covers those.
    package var locks: [TableLock] {
        var strongest: [String: TableLock.Mode] = [:]
        for statement in SQLText.statements(sql) {
            for (table, mode) in Self.locks(of: statement) where !table.hasPrefix("accountctl.") {
                strongest[table] = max(strongest[table] ?? mode, mode)
            }
        }
        return strongest.sorted { $0.key < $1.key }.map { TableLock($0.value, on: $0.key) }
    }

    private static func locks(of statement: String) -> [(String, TableLock.Mode)] {
        let words = words(of: statement)
        var locks: [(String, TableLock.Mode)] = []
        func table(after word: String) -> String? {
            guard let at = words.firstIndex(of: word), at + 1 < words.count else { return nil }
            return String(words[at + 1].prefix { $0 != "(" })
        }
        let start = words.prefix(2).joined(separator: " ")
        switch start {
        case "create table":
            for (index, word) in words.enumerated() where word == "references" && index + 1 < words.count {
                locks.append((String(words[index + 1].prefix { $0 != "(" }), .shareRowExclusive))
            }
        case "alter table":
            let isLight = words.contains("validate") || words.contains("valid") || words.contains("references")
            if let name = table(after: "table") {
                locks.append(
                    (
                        name,
                        words.contains("validate")
                            ? .shareUpdateExclusive : isLight ? .shareRowExclusive : .accessExclusive
                    )
                )
            }
            if words.contains("references"), let name = table(after: "references") {
                locks.append((name, .shareRowExclusive))
            }
        case "create policy", "alter policy", "drop policy", "drop trigger":
            if let name = table(after: "on") { locks.append((name, .accessExclusive)) }
        case "create trigger", "create constraint", "create or":
            if words.contains("trigger"), !words.contains("returns"), let name = table(after: "on") {
                locks.append((name, .shareRowExclusive))
            }
        case "create index", "create unique":
            if let name = table(after: "on") { locks.append((name, .share)) }
        default:
            break
        }
        return locks
    }

    /// The words of a statement in lower case, without comments.
    private static func words(of statement: String) -> [String] {
        statement.split(whereSeparator: \.isNewline)
            .map { line in line.firstRange(of: "--").map { line[..<$0.lowerBound] } ?? line }
            .flatMap { $0.split(whereSeparator: { $0.isWhitespace || $0 == ";" || $0 == "," }) }
            .map { $0.lowercased() }
    }
}
