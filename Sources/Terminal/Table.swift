/// A column of a table.
package struct TableColumn: Sendable, Equatable {
    package enum Alignment: Sendable { case left, right }

    package var heading: String
    package var alignment: Alignment

    package init(_ heading: String, alignment: Alignment = .left) {
        self.heading = heading
        self.alignment = alignment
    }
}

/// A cell of a table: text that is already harmless (see ``SafeText``) and how it stands out.
package struct TableCell: Sendable, Equatable {
    package var text: String
    package var emphasis: Emphasis

    package init(_ text: String, _ emphasis: Emphasis = .none) {
        self.text = text
        self.emphasis = emphasis
    }
}

/// Lays out rows in columns.
///
/// Widths are fixed by the rows seen first, so that a list of any length needs the memory of a screenful; a later cell that is
/// wider pushes its row to the right. On a terminal the widest columns give way until a row fits.
package struct TableLayout: Sendable {
    /// Columns are never made narrower than this.
    private static let narrowest = 8
    private static let gap = "  "

    private let columns: [TableColumn]
    private let widths: [Int]
    /// Whether columns had to give way; only then a cell is cut, since a cut number is a wrong one.
    private let cuts: Bool
    private let style: StreamStyle

    package init(_ columns: [TableColumn], sample: [[TableCell]], style: StreamStyle) {
        var widths = columns.map { DisplayWidth.of($0.heading) }
        for row in sample {
            for (index, cell) in row.enumerated() {
                widths[index] = max(widths[index], DisplayWidth.of(cell.text))
            }
        }
        let wanted = widths
        if let available = style.width {
            Self.shrink(&widths, to: available - Self.gap.count * max(0, columns.count - 1))
        }
        self.columns = columns
        self.widths = widths
        self.cuts = widths != wanted
        self.style = style
    }

    /// The line of headings.
    package func heading() -> String {
        line(columns.map { TableCell($0.heading.uppercased(), .heading) })
    }

    /// One row.
    package func line(_ cells: [TableCell]) -> String {
        var result = ""
        for (index, cell) in cells.enumerated() {
            if index > 0 { result += Self.gap }
            let text = cuts ? DisplayWidth.fit(cell.text, columns: widths[index]) : cell.text
            let padding = String(repeating: " ", count: max(0, widths[index] - DisplayWidth.of(text)))
            let shown = cell.emphasis.apply(to: text, style: style)
            switch columns[index].alignment {
            case .right: result += padding + shown
            // No blanks at the end of a line: they get in the way of whoever copies or compares it.
            case .left: result += index == cells.count - 1 ? shown : shown + padding
            }
        }
        return result
    }

    private static func shrink(_ widths: inout [Int], to available: Int) {
        while widths.reduce(0, +) > available {
            guard let widest = widths.indices.max(by: { widths[$0] < widths[$1] }), widths[widest] > narrowest else {
                return
            }
            widths[widest] -= 1
        }
    }
}
