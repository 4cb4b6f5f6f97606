/// Writes the rows of a list one by one, in constant memory for every format.
package struct ListWriter<Row> {
    /// The number of rows whose widths determine the layout of a table.
    private static var sampleSize: Int { 200 }

    private let output: Output
    private let fields: [Field<Row>]
    private var count = 0
    private var sample: [[TableCell]] = []
    private var layout: TableLayout?
    private var buffer = OutputBuffer()

    init(output: Output, fields: [Field<Row>]) {
        self.output = output
        switch output.format {
        case .table: self.fields = fields.filter { $0.heading != nil }
        case .json, .ndjson, .csv, .tsv: self.fields = output.format.select(from: fields)
        }
    }

    /// Adds a row, which may stay buffered until ``flush()`` or ``finish(whenEmpty:)``.
    package mutating func append(_ row: Row) throws {
        defer { count += 1 }
        switch output.format {
        case .table:
            let cells = fields.map { field in
                var cell = PeopleText.cell(field.value(row), field.emphasis(row), disclosure: output.disclosure)
                if field.isWhole { cell.isWhole = true }
                return cell
            }
            if let layout {
                try emit(layout.line(cells))
            } else {
                sample.append(cells)
                if sample.count == Self.sampleSize { try startTable(isWhole: false) }
            }
        case .json:
            buffer.add(count == 0 ? "[\n" : ",\n")
            buffer.add(JSONText.line(object(row), disclosure: output.disclosure))
            try buffer.drainIfLarge(to: output)
        case .ndjson:
            try emit(JSONText.line(object(row), disclosure: output.disclosure))
        case .csv:
            if count == 0 { try emit(fields.map { SeparatedText.csv($0.name) }.joined(separator: ",")) }
            try emit(fields.map { SeparatedText.csv(cell($0.value(row))) }.joined(separator: ","))
        case .tsv:
            try emit(fields.map { SafeText.line(cell($0.value(row))) }.joined(separator: "\t"))
        }
    }

    /// Writes the buffered rows, for lists that grow while somebody watches.
    ///
    /// - Throws: ``OutputClosed`` if the reader has gone, even if there is nothing to write; errors of the sink.
    package mutating func flush() throws {
        if output.format == .table, layout == nil, !sample.isEmpty { try startTable(isWhole: false) }
        try buffer.drain(to: output)
        try output.sink.checkReader()
    }

    /// Ends the list; if there was no row, `whenEmpty` is shown to people on standard error.
    package mutating func finish(whenEmpty note: String? = nil) throws {
        switch output.format {
        case .table:
            if count == 0 {
                if let note { output.messages.note(note) }
            } else if layout == nil {
                try startTable(isWhole: true)
            }
        case .json:
            buffer.add(count == 0 ? "[]\n" : "\n]\n")
        case .csv:
            if count == 0 { try emit(fields.map { SeparatedText.csv($0.name) }.joined(separator: ",")) }
        case .ndjson, .tsv:
            break
        }
        try buffer.drain(to: output)
    }

    private mutating func startTable(isWhole: Bool) throws {
        let columns = fields.map {
            TableColumn($0.heading ?? $0.name, alignment: $0.alignment, width: $0.width, least: $0.least)
        }
        let layout = TableLayout(columns, sample: sample, isWhole: isWhole, style: output.style)
        self.layout = layout
        if let note = layout.leftOut { output.messages.note(note + ": widen the terminal, or use --csv or --json.") }
        try emit(layout.heading())
        for row in sample { try emit(layout.line(row)) }
        sample = []
    }

    private mutating func emit(_ line: String) throws {
        buffer.add(line)
        buffer.add("\n")
        try buffer.drainIfLarge(to: output)
    }

    private func object(_ row: Row) -> OutputValue {
        .object(Dictionary(fields.map { ($0.name, $0.value(row)) }) { _, last in last })
    }

    /// A cell as in JSON, but without quotes around a string.
    private func cell(_ value: OutputValue) -> String {
        switch value {
        case .null: ""
        case .text(let text): foreign(text)
        case .personal(let data): foreign(output.disclosure.show(data))
        case .date(let date): Wording.rfc3339(date)
        case .bool, .integer, .number, .duration, .bytes, .list, .object:
            JSONText.line(value, disclosure: output.disclosure)
        }
    }

    /// A text from an untrusted source, without spreadsheet formulas in CSV and without terminal escapes.
    private func foreign(_ text: String) -> String {
        let cell = if case .csv = output.format { SeparatedText.withoutFormula(text) } else { text }
        return output.style.isTerminal ? SafeText.line(cell) : cell
    }
}

/// A buffer that combines output into writes of 32 KB.
private struct OutputBuffer {
    private static let large = 32 << 10
    private var text = ""

    mutating func add(_ more: String) {
        text += more
    }

    mutating func drainIfLarge(to output: Output) throws {
        if text.utf8.count >= Self.large { try drain(to: output) }
    }

    mutating func drain(to output: Output) throws {
        if text.isEmpty { return }
        try output.sink.write(text)
        text = ""
    }
}

/// Formatting of separated values.
private enum SeparatedText {
    /// The characters that a spreadsheet treats as the start of a formula, including full-width forms.
    private static let formulaStarts: Set<Unicode.Scalar> = [
        "=", "+", "-", "@", "\t", "\r", "\n", "\u{FF1D}", "\u{FF0B}", "\u{FF0D}", "\u{FF20}",
    ]

    /// Quotes a text if necessary (RFC 4180).
    ///
    /// Works on scalars: in Swift, a quote with a combining accent is a different character, but a CSV reader still
    /// sees a quote.
    static func csv(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: { $0 == "\"" || $0 == "," || $0 == "\n" || $0 == "\r" }) else {
            return text
        }
        var quoted = String.UnicodeScalarView("\"".unicodeScalars)
        for scalar in text.unicodeScalars {
            if scalar == "\"" { quoted.append(scalar) }
            quoted.append(scalar)
        }
        quoted.append("\"")
        return String(quoted)
    }

    /// Prefixes `'` to a text that a spreadsheet would evaluate as a formula; phone numbers are left alone.
    static func withoutFormula(_ text: String) -> String {
        guard let first = text.unicodeScalars.first, formulaStarts.contains(first) else { return text }
        let isNumber = text.unicodeScalars.dropFirst().allSatisfy { ("0"..."9").contains($0) || $0 == "." }
        return isNumber && (first == "+" || first == "-") ? text : "'" + text
    }
}
