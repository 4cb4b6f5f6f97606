/// One field of a list, declared once for the table column, the JSON member and the CSV column.
package struct Field<Row>: Sendable {
    /// The stable name in JSON and CSV, in lower case with underscores.
    package let name: String
    /// The heading in tables; nil omits the field there.
    let heading: String?
    /// The label if one row is shown by itself; defaults to the heading, and without either the field is omitted.
    let detail: String?
    /// The alignment; numbers are usually aligned right.
    let alignment: TableColumn.Alignment
    /// The columns to keep for later rows of a list that grows, if its first rows need fewer.
    let width: Int
    /// A table omits the field if it would have to cut it to fewer columns than this.
    let least: Int
    /// Whether a table shows the value in full or not at all, since a part of it would be another value.
    let isWhole: Bool
    /// The value of this field in a row.
    package let value: @Sendable (Row) -> OutputValue
    /// The emphasis of the value in a table.
    let emphasis: @Sendable (Row) -> Emphasis

    package init(
        _ name: String,
        _ heading: String?,
        detail: String? = nil,
        alignment: TableColumn.Alignment = .left,
        width: Int = 0,
        least: Int = 0,
        isWhole: Bool = false,
        emphasis: @escaping @Sendable (Row) -> Emphasis = { _ in .none },
        value: @escaping @Sendable (Row) -> OutputValue
    ) {
        self.name = name
        self.heading = heading
        self.detail = detail
        self.alignment = alignment
        self.width = width
        self.least = least
        self.isWhole = isWhole
        self.value = value
        self.emphasis = emphasis
    }
}

/// The selection names a field that the command does not have.
package struct UnknownField: Error, Equatable, CustomStringConvertible {
    let name: String
    package let known: [String]

    package init(name: String, known: [String]) {
        self.name = name
        self.known = known
    }

    package var description: String {
        if known.isEmpty { return "there is no field \"\(SafeText.line(name))\": the command prints none" }
        let hint = NearestName.of(name, among: known).map { " Did you mean \($0)?" } ?? ""
        return "there is no field \"\(SafeText.line(name))\".\(hint) Fields: \(known.joined(separator: ", "))"
    }
}
