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
/// Before any of that, where all rows are known, columns that say nothing of any row are left out, from the right.
/// Where columns gave way a later cell that is wider is cut, unless it is a number or the first of its row and has its full width.
package struct TableLayout: Sendable {
    /// Columns are never made narrower than this.
    private static let narrowest = 8
    private static let gap = "  "

    private let columns: [TableColumn]
    /// The columns that are shown.
    private let shown: [Int]
    /// The columns for which there is no room.
    private let lacking: [Int]
    /// As wide as these, by the number of the column.
    private let widths: [Int]
    /// The columns whose cells are cut; none unless some had to give way, since a cut number is a wrong one.
    private let cut: Set<Int>
    private let style: StreamStyle

    /// Lays out rows as the sample asks for; `isWhole` tells that there are no others.
    package init(_ columns: [TableColumn], sample: [[TableCell]], isWhole: Bool, style: StreamStyle) {
        var widths = columns.map { DisplayWidth.of($0.heading) }
        for row in sample {
            for (index, cell) in row.enumerated() {
                widths[index] = max(widths[index], DisplayWidth.of(cell.text))
            }
        }
        let wanted = widths
        var wordy = Array(columns.indices)
        func isTooWide(_ available: Int) -> Bool {
            wordy.reduce(Self.gap.count * (wordy.count - 1)) { $0 + widths[$1] } > available
        }
        var shown = wordy
        if let available = style.width, let first = widths.first {
            for index in columns.indices.dropFirst().reversed() where isWhole && isTooWide(available) {
                if sample.allSatisfy({ $0[index].text.isEmpty }) { wordy.removeAll { $0 == index } }
            }
            shown = wordy
            if isTooWide(available) {
                widths[0] = min(first, available * 2 / 3)
                shown = Self.room(for: widths, of: wordy, in: available)
                Self.shrink(&widths, shown.dropFirst(), to: available - widths[0] - Self.gap.count * (shown.count - 1))
            }
        }
        self.columns = columns
        self.shown = shown
        self.lacking = wordy.filter { !shown.contains($0) }
        self.widths = widths
        let isWhole = { (index: Int) in
            widths == wanted || widths[index] == wanted[index] && (index == 0 || columns[index].alignment == .right)
        }
        self.cut = Set(columns.indices.filter { !isWhole($0) })
        self.style = style
    }

    /// Names the columns for which there is no room; nil when there is none of that kind.
    package var leftOut: String? {
        let names = lacking.map { columns[$0].heading.uppercased() }
        return names.isEmpty ? nil : "No room for " + Wording.list(names)
    }

    /// The line of headings.
    package func heading() -> String {
        line(columns.map { TableCell($0.heading.uppercased(), .heading) })
    }

    /// One row.
    package func line(_ cells: [TableCell]) -> String {
        var result = ""
        // Written before the next text only, lest there be blanks at the end of a line: they get in the way of whoever copies it.
        var blanks = 0
        for index in shown {
            let cell = cells[index]
            if index != shown.first { blanks += Self.gap.count }
            let text = cut.contains(index) ? DisplayWidth.fit(cell.text, columns: widths[index]) : cell.text
            let padding = max(0, widths[index] - DisplayWidth.of(text))
            if columns[index].alignment == .right { blanks += padding }
            if !text.isEmpty {
                result += String(repeating: " ", count: blanks) + cell.emphasis.apply(to: text, style: style)
                blanks = 0
            }
            if columns[index].alignment == .left { blanks += padding }
        }
        return result
    }

    /// The columns that fit, from the left, when all but the first are as narrow as they may be.
    private static func room(for widths: [Int], of columns: [Int], in available: Int) -> [Int] {
        var left = available
        return columns.filter { index in
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
