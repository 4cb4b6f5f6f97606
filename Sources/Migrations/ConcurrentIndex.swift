import Postgres

/// The index that a `create index concurrently` statement creates.
///
/// A build that is killed or fails leaves an invalid index, which is never used but still maintained, so it must be
/// dropped before the next try.
struct ConcurrentIndex: Equatable {
    /// The schema and the name as written in the statement; the schema is the table's.
    let schema: String?
    let name: String

    /// Parses the statement; nil if it does not create an index concurrently or does not name the index.
    init?(statement: String) {
        var words = Words(statement)
        guard words.take("create") else { return nil }
        _ = words.take("unique")
        guard words.take("index"), words.take("concurrently") else { return nil }
        if words.take("if") {
            guard words.take("not"), words.take("exists") else { return nil }
        }
        guard let name = words.name(), words.take("on") else { return nil }
        _ = words.take("only")
        guard let table = words.name() else { return nil }
        self.name = name
        schema = words.takeDot() ? table : nil
    }

    enum State: Equatable {
        case missing, invalid, valid
    }

    func state(on connection: isolated Connection) throws -> State {
        let isValid = try connection.first(
            """
            select i.indisvalid
            from pg_class as c
            join pg_index as i on i.indexrelid = c.oid
            where c.relname = \(name)
              and case
                      when \(schema)::text is null then pg_table_is_visible(c.oid)
                      else c.relnamespace = (select oid from pg_namespace where nspname = \(schema))
                  end
            """,
            as: Bool.self
        )
        return isValid.map { $0 ? .valid : .invalid } ?? .missing
    }

    func drop(on connection: isolated Connection) throws {
        if let schema {
            try connection.execute("drop index concurrently if exists \(identifier: schema).\(identifier: name)")
        } else {
            try connection.execute("drop index concurrently if exists \(identifier: name)")
        }
    }
}

/// A tokenizer for the words and names at the start of a statement.
private struct Words {
    private var rest: Substring

    init(_ statement: String) {
        rest = Substring(statement)
    }

    mutating func take(_ word: String) -> Bool {
        skipBlanks()
        let candidate = rest.prefix { $0.isLetter || $0 == "_" || $0.isNumber }
        guard candidate.lowercased() == word else { return false }
        rest = rest.dropFirst(candidate.count)
        return true
    }

    /// A name as stored in the catalog: in lower case unless quoted.
    mutating func name() -> String? {
        skipBlanks()
        if rest.first == "\"" {
            guard let end = rest.dropFirst().firstIndex(of: "\"") else { return nil }
            let name = rest[rest.index(after: rest.startIndex)..<end]
            rest = rest[rest.index(after: end)...]
            return String(name)
        }
        let name = rest.prefix { $0.isLetter || $0 == "_" || $0.isNumber || $0 == "$" }
        rest = rest.dropFirst(name.count)
        return name.isEmpty ? nil : name.lowercased()
    }

    mutating func takeDot() -> Bool {
        guard rest.first == "." else { return false }
        rest = rest.dropFirst()
        return true
    }

    private mutating func skipBlanks() {
        while true {
            rest = rest.drop { $0.isWhitespace }
            guard rest.hasPrefix("--") else { return }
            rest = rest.drop { !$0.isNewline }
        }
    }
}
