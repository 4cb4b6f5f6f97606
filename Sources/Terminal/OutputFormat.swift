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

    /// Checks a selection before anything is done: what is found missing when it is written comes too late.
    ///
    /// - Parameters:
    ///   - fields: the names that can be selected.
    ///   - sectionFields: those that can be selected between separators besides, such as `auth.email`.
    /// - Throws: ``UnknownField`` naming the first that does not exist.
    package func checkSelection(of fields: [String], and sectionFields: [String] = []) throws(UnknownField) {
        let known =
            switch self {
            case .csv, .tsv: fields + sectionFields
            case .table, .json, .ndjson: fields
            }
        if let name = (selection ?? []).first(where: { !known.contains($0) }) {
            throw UnknownField(name: name, known: known)
        }
    }

    /// The selected ones of the fields, in the order of the selection; `auth` stands for all of `auth.email` and its
    /// like.
    ///
    /// One that there is not is nothing (null) in every row: whatever was done stays told.
    func select<Row>(from fields: [Field<Row>]) -> [Field<Row>] {
        guard let selection else { return fields }
        return selection.flatMap { name in
            let selected = fields.filter { $0.name == name || $0.name.hasPrefix(name + ".") }
            return selected.isEmpty ? [Field(name, nil) { _ in .null }] : selected
        }
    }
}
