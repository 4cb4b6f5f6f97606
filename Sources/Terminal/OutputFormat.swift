/// How a command's result is written to standard output.
package enum OutputFormat: Sendable, Equatable {
    /// Columns and screens for people.
    case table
    /// One JSON value; lists are an array with one object a line.
    case json(fields: [String]?)
    /// One JSON object a line.
    case ndjson(fields: [String]?)
    /// Comma-separated values with a line of headings (RFC 4180).
    case csv
    /// Tab-separated values without headings, for `cut` and `awk`.
    case tsv

    /// Whether a program reads the result.
    package var isForPrograms: Bool { self != .table }

    fileprivate var selection: [String]? {
        switch self {
        case .json(let fields), .ndjson(let fields): fields
        case .table, .csv, .tsv: nil
        }
    }

    /// The selected ones of the fields, in the order of the selection.
    ///
    /// - Throws: ``UnknownField`` naming the first that does not exist.
    func select<Row>(from fields: [Field<Row>]) throws -> [Field<Row>] {
        guard let selection else { return fields }
        return try selection.map { name in
            guard let field = fields.first(where: { $0.name == name }) else {
                throw UnknownField(name: name, known: fields.map(\.name))
            }
            return field
        }
    }
}
