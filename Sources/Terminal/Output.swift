/// The standard output of a command: only data, in the requested format.
package struct Output: Sendable {
    package let format: OutputFormat
    package let style: StreamStyle
    let disclosure: Disclosure
    package let sink: any ByteSink
    package let messages: Messages
    /// Shows output that is longer than the screen; nil to write text directly.
    let pager: Pager?

    package init(
        format: OutputFormat,
        style: StreamStyle,
        disclosure: Disclosure = .masked,
        sink: any ByteSink,
        messages: Messages,
        pager: Pager? = nil
    ) {
        self.format = format
        self.style = style
        self.disclosure = disclosure
        self.sink = sink
        self.messages = messages
        self.pager = pager
    }

    /// This output with personal data unmasked; use it only after the access was recorded.
    package func revealing() -> Output {
        Output(format: format, style: style, disclosure: .revealed, sink: sink, messages: messages, pager: pager)
    }

    /// Passes `body` an output whose text goes to a pager once it is longer than the screen.
    ///
    /// Returns when everything was shown and the pager has exited; there must be no prompt meanwhile. Not for lists
    /// that somebody watches while they grow.
    package func paged(_ body: (Output) throws -> Void) throws {
        guard let pager, format == .table else { return try body(self) }
        try PagerSink.withPager(pager, sink) { sink in
            try body(Output(format: format, style: style, disclosure: disclosure, sink: sink, messages: messages))
        }
    }

    /// Starts a list whose rows are written one by one.
    package func startList<Row>(_ fields: [Field<Row>]) -> ListWriter<Row> {
        ListWriter(output: self, fields: fields)
    }

    /// Starts a list that somebody watches while it grows.
    ///
    /// JSON is written as one object per line: a reader of a single JSON value would see nothing before its end, and
    /// this list may have none.
    package func startGrowingList<Row>(_ fields: [Field<Row>]) -> ListWriter<Row> {
        guard case .json(let selection) = format else { return startList(fields) }
        let format = OutputFormat.ndjson(fields: selection)
        let lines = Output(format: format, style: style, disclosure: disclosure, sink: sink, messages: messages)
        return lines.startList(fields)
    }

    /// Writes a whole list.
    ///
    /// - Parameters:
    ///   - rows: the rows to list.
    ///   - fields: the columns.
    ///   - note: shown to people on standard error if the list is empty.
    /// - Throws: errors of the sink.
    package func list<Row>(_ rows: some Sequence<Row>, _ fields: [Field<Row>], whenEmpty note: String? = nil) throws {
        try paged { output in
            var writer = output.startList(fields)
            for row in rows { try writer.append(row) }
            try writer.finish(whenEmpty: note)
        }
    }

    /// Shows one item: a screen for people, one object for programs, one row in separated values.
    ///
    /// - Throws: errors of the sink.
    package func show(_ sheet: Sheet) throws {
        switch format {
        case .table: try screen([sheet])
        case .json(let fields): try write(Self.select(fields, of: sheet), pretty: true)
        case .ndjson(let fields): try write(Self.select(fields, of: sheet), pretty: false)
        case .csv, .tsv:
            let fields = sheet.row().map { cell in Field<Void>(cell.name, nil) { _ in cell.value } }
            try list(CollectionOfOne(()), fields)
        }
    }

    /// Shows several items to people, one below the other.
    ///
    /// - Throws: errors of the sink.
    package func screen(_ sheets: [Sheet]) throws {
        let texts = sheets.map { $0.text(style: style, disclosure: disclosure) }
        try paged { try $0.sink.write(texts.joined(separator: "\n")) }
    }

    /// Writes text unchanged, for output that is a document of its own, such as a completion script.
    package func document(_ text: String) throws {
        try sink.write(text.hasSuffix("\n") ? text : text + "\n")
    }

    private func write(_ value: OutputValue, pretty: Bool) throws {
        let text =
            pretty
            ? JSONText.pretty(value, disclosure: disclosure) : JSONText.line(value, disclosure: disclosure)
        try sink.write(text + "\n")
    }

    private static func select(_ fields: [String]?, of sheet: Sheet) -> OutputValue {
        let members = sheet.object()
        guard let fields else { return .object(members) }
        return .object(Dictionary(fields.map { ($0, members[$0] ?? .null) }) { _, last in last })
    }
}
