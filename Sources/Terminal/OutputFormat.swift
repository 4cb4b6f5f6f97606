/// How a command's result is written to standard output.
package enum OutputFormat: Sendable, Equatable {
    /// Columns and screens for people.
    case table
    /// One JSON value; lists are an array with one object a line.
    case json(fields: [String]?)
    /// One JSON object a line.
    case ndjson(fields: [String]?)
    /// Comma-separated values with a line of names (RFC 4180).
    case csv(fields: [String]?)
    /// Tab-separated values without the names, for `cut` and `awk`: the columns of ``csv(fields:)`` in their order.
    case tsv(fields: [String]?)

    /// Whether a program reads the result.
    package var isForPrograms: Bool { self != .table }

    fileprivate var selection: [String]? {
        switch self {
        case .json(let fields), .ndjson(let fields), .csv(let fields), .tsv(let fields): fields
        case .table: nil
        }
    }

    /// The selected ones of the fields, in the order of the selection; `auth` stands for all of `auth.email` and its like.
    ///
    /// - Throws: ``UnknownField`` naming the first that does not exist.
    func select<Row>(from fields: [Field<Row>]) throws -> [Field<Row>] {
        guard let selection else { return fields }
        return try selection.flatMap { name in
            let selected = fields.filter { $0.name == name || $0.name.hasPrefix(name + ".") }
            guard !selected.isEmpty else { throw UnknownField(name: name, known: fields.map(\.name)) }
            return selected
        }
    }
}
