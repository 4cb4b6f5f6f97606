/// One column of a list: declared once, it gives the table's column, the member of the JSON object and the CSV column.
package struct Field<Row>: Sendable {
    /// The stable name in JSON and CSV, in lower case with underscores.
    package let name: String
    /// The heading in tables; nil keeps the field out of them.
    let heading: String?
    /// The label where one row is shown by itself; without one that is the heading, and without both it is left out.
    let detail: String?
    /// Whether numbers should line up at the right.
    let alignment: TableColumn.Alignment
    /// The value of this field in a row.
    package let value: @Sendable (Row) -> OutputValue
    /// How the value stands out in a table.
    let emphasis: @Sendable (Row) -> Emphasis

    package init(
        _ name: String,
        _ heading: String?,
        detail: String? = nil,
        alignment: TableColumn.Alignment = .left,
        emphasis: @escaping @Sendable (Row) -> Emphasis = { _ in .none },
        value: @escaping @Sendable (Row) -> OutputValue
    ) {
        self.name = name
        self.heading = heading
        self.detail = detail
        self.alignment = alignment
        self.value = value
        self.emphasis = emphasis
    }
}

/// A field was asked for that the command does not have.
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
