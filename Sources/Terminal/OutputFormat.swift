/// The format of a command's result on standard output.
package enum OutputFormat: Sendable, Equatable {
    /// Tables and screens for people.
    case table
    /// One JSON value; lists are an array with one object per line.
    case json(fields: [String]?)
    /// One JSON object per line.
    case ndjson(fields: [String]?)
    /// Comma-separated values with a header line (RFC 4180).
    case csv(fields: [String]?)
    /// Tab-separated values without a header, for `cut` and `awk`: the columns of ``csv(fields:)`` in the same order.
    case tsv(fields: [String]?)

    /// Whether the format is meant for programs.
    package var isForPrograms: Bool { self != .table }

    fileprivate var selection: [String]? {
        switch self {
        case .json(let fields), .ndjson(let fields), .csv(let fields), .tsv(let fields): fields
        case .table: nil
        }
    }

    /// Checks a selection before the command does anything, since an error while writing would come too late.
    ///
    /// - Parameters:
    ///   - fields: the names that can be selected.
    ///   - sectionFields: additional names that can be selected in separated values, such as `auth.email`.
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

    /// The selected fields in the order of the selection; `auth` stands for all of `auth.email` and the like.
    ///
    /// An unknown field is null in every row, so that the result of the command is still reported.
    func select<Row>(from fields: [Field<Row>]) -> [Field<Row>] {
        guard let selection else { return fields }
        return selection.flatMap { name in
            let selected = fields.filter { $0.name == name || $0.name.hasPrefix(name + ".") }
            return selected.isEmpty ? [Field(name, nil) { _ in .null }] : selected
        }
    }
}
