/// The view of one item: titled sections with facts and small tables.
package struct Sheet: Sendable {
    var sections: [Section]

    package init(_ sections: [Section] = []) {
        self.sections = sections
    }

    /// Creates a sheet with nothing but facts.
    package init(facts: [Fact]) {
        self.init([Section(.facts(facts))])
    }

    /// A part of a sheet.
    package struct Section: Sendable {
        /// The member of the JSON object that holds this section; nil merges its facts into the object itself.
        let name: String?
        /// The title for people; nil shows no title.
        let title: String?
        let content: Content
        /// Whether the facts differ between items, as the columns of an app's own table do.
        let isOpen: Bool

        package init(_ name: String, title: String? = nil, isOpen: Bool = false, _ content: Content) {
            self.name = name
            self.title = title
            self.content = content
            self.isOpen = isOpen
        }

        /// A section whose facts are members of the JSON object itself.
        package init(_ content: Content, title: String? = nil) {
            self.name = nil
            self.title = title
            self.content = content
            self.isOpen = false
        }
    }

    /// The content of a section.
    package enum Content: Sendable {
        /// Labelled values.
        case facts([Fact])
        /// Rows; for people, an empty table is omitted unless a note explains why it is empty.
        case table([TableColumn], rows: [[OutputValue]], names: [String], whenEmpty: String? = nil)
        /// Sentences, which are a list of strings in JSON.
        case notes([String], Emphasis = .none)
    }

    /// One labelled value.
    package struct Fact: Sendable {
        package let name: String
        let label: String
        package let value: OutputValue
        let emphasis: Emphasis
        /// The text for people in place of the value's usual form.
        let shown: String?

        package init(
            _ name: String,
            _ label: String,
            _ value: OutputValue,
            _ emphasis: Emphasis = .none,
            shown: String? = nil
        ) {
            self.name = name
            self.label = label
            self.value = value
            self.emphasis = emphasis
            self.shown = shown
        }
    }

    /// The facts of one row of a list, labelled like its columns unless a field has its own label.
    package static func facts<Row>(of fields: [Field<Row>], row: Row) -> [Fact] {
        fields.compactMap { field in
            (field.detail ?? field.heading).map { Fact(field.name, $0, field.value(row), field.emphasis(row)) }
        }
    }

    /// The sheet as one JSON object.
    func object() -> [String: OutputValue] {
        var members: [String: OutputValue] = [:]
        for section in sections {
            switch section.content {
            case .facts(let facts):
                let object = Dictionary(facts.map { ($0.name, $0.value) }) { _, last in last }
                if let name = section.name {
                    members[name] = .object(object)
                } else {
                    members.merge(object) { _, last in last }
                }
            case .table(_, let rows, let names, _):
                members[section.member] = .list(
                    rows.map { row in .object(Dictionary(zip(names, row)) { _, last in last }) }
                )
            case .notes(let notes, _):
                members[section.member] = .list(notes.map { .text($0) })
            }
        }
        return members
    }

    /// The sheet as a row: its facts in order, those of a section as `section.fact`, and everything else as JSON in a
    /// cell.
    ///
    /// All sheets of a kind have the same cells: a fact has a cell even if it is null, and an open section is a single
    /// cell.
    func row() -> [(name: String, value: OutputValue)] {
        let members = object()
        return sections.flatMap { section -> [(name: String, value: OutputValue)] in
            switch section.content {
            case .facts(let facts) where !section.isOpen:
                let prefix = section.name.map { $0 + "." } ?? ""
                return facts.map { (prefix + $0.name, $0.value) }
            case .facts, .table, .notes:
                let name = section.member
                return [(name, members[name] ?? .null)]
            }
        }
    }

    /// The sheet as text for people; null and empty facts are omitted.
    func text(style: StreamStyle, disclosure: Disclosure) -> String {
        var blocks: [String] = []
        for section in sections {
            let lines = lines(of: section.content, style: style, disclosure: disclosure)
            if lines.isEmpty { continue }
            var block: [String] = []
            if let title = section.title { block.append(Emphasis.heading.apply(to: title, style: style)) }
            block += section.title == nil ? lines : lines.map { "  " + $0 }
            blocks.append(block.joined(separator: "\n") + "\n")
        }
        return blocks.joined(separator: "\n")
    }

    private func lines(of content: Content, style: StreamStyle, disclosure: Disclosure) -> [String] {
        switch content {
        case .facts(let facts):
            let empty: [OutputValue] = [.null, .list([]), .object([:])]
            let present = facts.filter { $0.shown != nil || !empty.contains($0.value) }
            let width = present.map { DisplayWidth.of($0.label) }.max() ?? 0
            return present.map { fact in
                let padding = String(repeating: " ", count: width - DisplayWidth.of(fact.label))
                let value = fact.shown.map { SafeText.line($0) } ?? PeopleText.of(fact.value, disclosure: disclosure)
                return fact.label + padding + "  " + fact.emphasis.apply(to: value, style: style)
            }
        case .table(let columns, let rows, _, let note):
            if rows.isEmpty { return note.map { [$0] } ?? [] }
            let cells = rows.map { row in row.map { PeopleText.cell($0, disclosure: disclosure) } }
            var inner = style
            inner.width = style.width.map { $0 - 2 }
            let layout = TableLayout(columns, sample: cells, isWhole: true, style: inner)
            // One item may be evidence, such as a receipt: a cut cell would leave some of it out.
            return [layout.heading()] + cells.flatMap { layout.wrapped($0) } + [layout.leftOut].compactMap(\.self)
        case .notes(let notes, let emphasis):
            return notes.map { emphasis.apply(to: SafeText.line($0), style: style) }
        }
    }
}

extension Sheet.Section {
    /// The JSON member that holds the whole section.
    fileprivate var member: String {
        switch content {
        case .facts: name ?? "facts"
        case .table: name ?? "rows"
        case .notes: name ?? "notes"
        }
    }
}
