/// A column of a table.
package struct TableColumn: Sendable, Equatable {
    /// On which side of the column its cells stand.
    package enum Alignment: Sendable { case left, right }

    var heading: String
    var alignment: Alignment

    package init(_ heading: String, alignment: Alignment = .left) {
        self.heading = heading
        self.alignment = alignment
    }
}

/// A cell of a table: text that is already harmless (see ``SafeText``) and how it stands out.
struct TableCell: Sendable, Equatable {
    var text: String
    var emphasis: Emphasis
    /// Whether it is shown whole or not at all: a part of a date, an id or a number is another one.
    var isWhole: Bool

    init(_ text: String, _ emphasis: Emphasis = .none, isWhole: Bool = false) {
        self.text = text
        self.emphasis = emphasis
        self.isWhole = isWhole
    }
}

/// Lays out rows in columns.
///
/// Widths are fixed by the rows seen first, so that a list of any length needs the memory of a screenful; a later cell
/// that is wider pushes its row to the right. On a terminal the widest columns give way until a row fits, but for those
/// of dates, ids and numbers, and for the first, which says what the row is about and is what people copy, up to two
/// thirds of a line; columns for which there is no room even so are left out.
/// Before any of that, where all rows are known, columns that say nothing of any row are left out, from the right.
/// Where columns gave way a later cell that is wider is cut, unless it is a number or the first of its row and has its
/// full width.
struct TableLayout: Sendable {
    /// Columns are never made narrower than this.
    private static let narrowest = 8
    private static let gap = "  "

    private let columns: [TableColumn]
    /// The columns that are shown.
    private let shown: [Int]
    /// The columns for which there is no room.
    private let lacking: [Int]
    /// The widths of the columns, by their numbers.
    private let widths: [Int]
    /// The columns whose cells are cut; none unless some had to give way, since a cut number is a wrong one.
    private let cut: Set<Int>
    private let style: StreamStyle

    /// Lays out rows as the sample asks for; `isWhole` tells that there are no others.
    init(_ columns: [TableColumn], sample: [[TableCell]], isWhole: Bool, style: StreamStyle) {
        var widths = columns.map { DisplayWidth.of($0.heading) }
        for row in sample {
            for (index, cell) in row.enumerated() {
                widths[index] = max(widths[index], DisplayWidth.of(cell.text))
            }
        }
        let wanted = widths
        let rigid = Set(columns.indices.filter { index in sample.contains { $0[index].isWhole } })
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
                if !rigid.contains(0) { widths[0] = min(first, available * 2 / 3) }
                let fixed = rigid.union([0])
                let least = widths.indices.map { fixed.contains($0) ? widths[$0] : min(widths[$0], Self.narrowest) }
                shown = Self.room(for: least, of: wordy, in: available)
                let taken = shown.filter(fixed.contains).reduce(Self.gap.count * (shown.count - 1)) { $0 + widths[$1] }
                Self.shrink(&widths, shown.filter { !fixed.contains($0) }, to: available - taken)
            }
        }
        self.columns = columns
        self.shown = shown
        self.lacking = wordy.filter { !shown.contains($0) }
        self.widths = widths
        let isWhole = { (index: Int) in
            widths == wanted || rigid.contains(index)
                || widths[index] == wanted[index] && (index == 0 || columns[index].alignment == .right)
        }
        self.cut = Set(columns.indices.filter { !isWhole($0) })
        self.style = style
    }

    /// Names the columns for which there is no room; nil when there is none of that kind.
    var leftOut: String? {
        let names = lacking.map { columns[$0].heading.uppercased() }
        return names.isEmpty ? nil : "No room for " + Wording.list(names)
    }

    /// The line of headings.
    func heading() -> String {
        line(columns.map { TableCell($0.heading.uppercased(), .heading) })
    }

    /// The line of a row.
    func line(_ cells: [TableCell]) -> String {
        var result = ""
        // Written before the next text only, lest there be blanks at the end of a line: they get in the way of whoever
        // copies it.
        var blanks = 0
        for index in shown {
            let cell = cells[index]
            if index != shown.first { blanks += Self.gap.count }
            let text =
                cut.contains(index) && !cell.isWhole ? DisplayWidth.fit(cell.text, columns: widths[index]) : cell.text
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

    /// The columns that fit, from the left, when each is as narrow as it may be; the first one always.
    private static func room(for least: [Int], of columns: [Int], in available: Int) -> [Int] {
        var left = available
        return columns.filter { index in
            let needed = least[index] + (index == 0 ? 0 : gap.count)
            guard index == 0 || needed <= left else { return false }
            left -= needed
            return true
        }
    }

    private static func shrink(_ widths: inout [Int], _ columns: [Int], to available: Int) {
        while columns.reduce(0, { $0 + widths[$1] }) > available {
            guard let widest = columns.max(by: { widths[$0] < widths[$1] }), widths[widest] > narrowest else { return }
            widths[widest] -= 1
        }
    }
}
