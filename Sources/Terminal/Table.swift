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
/// wider pushes its row to the right. On a terminal the widest columns give way until a row fits, but for the first, which says
/// what the row is about and is what people copy, up to two thirds of a line; columns for which there is no room even so are left out.
/// Where columns gave way a later cell that is wider is cut, unless it is a number or the first of its row and has its full width.
package struct TableLayout: Sendable {
    /// Columns are never made narrower than this.
    private static let narrowest = 8
    private static let gap = "  "

    private let columns: [TableColumn]
    /// The columns that are shown.
    private let shown: [Int]
    /// As wide as these, by the number of the column.
    private let widths: [Int]
    /// The columns whose cells are cut; none unless some had to give way, since a cut number is a wrong one.
    private let cut: Set<Int>
    private let style: StreamStyle

    package init(_ columns: [TableColumn], sample: [[TableCell]], style: StreamStyle) {
        var widths = columns.map { DisplayWidth.of($0.heading) }
        for row in sample {
            for (index, cell) in row.enumerated() {
                widths[index] = max(widths[index], DisplayWidth.of(cell.text))
            }
        }
        let wanted = widths
        var shown = Array(columns.indices)
        let gaps = Self.gap.count * max(0, columns.count - 1)
        if let available = style.width, let first = widths.first, widths.reduce(gaps, +) > available {
            widths[0] = min(first, available * 2 / 3)
            shown = Self.room(for: widths, in: available)
            Self.shrink(&widths, shown.dropFirst(), to: available - widths[0] - Self.gap.count * (shown.count - 1))
        }
        self.columns = columns
        self.shown = shown
        self.widths = widths
        let isWhole = { (index: Int) in
            widths == wanted || widths[index] == wanted[index] && (index == 0 || columns[index].alignment == .right)
        }
        self.cut = Set(columns.indices.filter { !isWhole($0) })
        self.style = style
    }

    /// Names the columns for which there is no room; nil when there is none of that kind.
    package var leftOut: String? {
        let names = columns.indices.filter { !shown.contains($0) }.map { columns[$0].heading.uppercased() }
        return names.isEmpty ? nil : "No room for " + Wording.list(names)
    }

    /// The line of headings.
    package func heading() -> String {
        line(columns.map { TableCell($0.heading.uppercased(), .heading) })
    }

    /// One row.
    package func line(_ cells: [TableCell]) -> String {
        var result = ""
        for index in shown {
            let cell = cells[index]
            if index != shown.first { result += Self.gap }
            let text = cut.contains(index) ? DisplayWidth.fit(cell.text, columns: widths[index]) : cell.text
            let padding = String(repeating: " ", count: max(0, widths[index] - DisplayWidth.of(text)))
            let styled = cell.emphasis.apply(to: text, style: style)
            switch columns[index].alignment {
            case .right: result += padding + styled
            // No blanks at the end of a line: they get in the way of whoever copies or compares it.
            case .left: result += index == shown.last ? styled : styled + padding
            }
        }
        return result
    }

    /// The columns that fit, from the left, when all but the first are as narrow as they may be.
    private static func room(for widths: [Int], in available: Int) -> [Int] {
        var left = available
        return widths.indices.filter { index in
            let least = index == 0 ? widths[index] : gap.count + min(widths[index], narrowest)
            guard index == 0 || least <= left else { return false }
            left -= least
            return true
        }
    }

    private static func shrink(_ widths: inout [Int], _ columns: ArraySlice<Int>, to available: Int) {
        while columns.reduce(0, { $0 + widths[$1] }) > available {
            guard let widest = columns.max(by: { widths[$0] < widths[$1] }), widths[widest] > narrowest else { return }
            widths[widest] -= 1
        }
    }
}
