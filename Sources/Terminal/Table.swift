/// A column of a table.
package struct TableColumn: Sendable, Equatable {
    /// The side to which the cells of a column are aligned.
    package enum Alignment: Sendable { case left, right }

    var heading: String
    var alignment: Alignment
    /// The width to keep for later rows, as far as no other column needs the room.
    var width: Int
    /// The column is omitted if it would have to shrink below this.
    var least: Int

    package init(_ heading: String, alignment: Alignment = .left, width: Int = 0, least: Int = 0) {
        self.heading = heading
        self.alignment = alignment
        self.width = width
        self.least = least
    }
}

/// A table cell: text that is already safe to show (see ``SafeText``), and its emphasis.
struct TableCell: Sendable, Equatable {
    var text: String
    var emphasis: Emphasis
    /// Whether the cell is shown in full or not at all, because part of a date, an id, a number or a state would be
    /// another value.
    var isWhole: Bool

    init(_ text: String, _ emphasis: Emphasis = .none, isWhole: Bool = false) {
        self.text = text
        self.emphasis = emphasis
        self.isWhole = isWhole
    }
}

/// Lays out rows in columns.
///
/// Widths are fixed by the first rows, so that a list of any length needs only the memory of a screenful; a wider cell
/// in a later row pushes the rest of its row to the right.
///
/// On a terminal, the widest columns shrink until a row fits. Columns of dates, ids and numbers do not shrink; nor does
/// the first column, which identifies the row and is what people copy, up to two thirds of a line. Columns that still
/// do not fit are omitted, and so are those that would still shrink below the least width that they ask for. Before any
/// of that, if all rows are known, columns that are empty in all rows are omitted, from the right. Once columns have
/// shrunk, a wider cell in a later row is cut, unless it is a number, or the first of its row and its column has its
/// full width. ``wrapped(_:)`` continues such a cell on further lines instead.
struct TableLayout: Sendable {
    /// The minimum width of a column.
    private static let narrowest = 8
    private static let gap = "  "

    private let columns: [TableColumn]
    /// The columns that are shown.
    private let shown: [Int]
    /// The columns that do not fit.
    private let lacking: [Int]
    /// The widths of the columns, by index.
    private let widths: [Int]
    /// The columns whose cells may be cut; empty unless some columns had to shrink, since a cut number is a wrong one.
    private let cut: Set<Int>
    private let style: StreamStyle

    /// Creates a layout from sample rows; `isWhole` says that there are no other rows.
    init(_ columns: [TableColumn], sample: [[TableCell]], isWhole: Bool, style: StreamStyle) {
        var widths = columns.map { DisplayWidth.of($0.heading) }
        for row in sample {
            for (index, cell) in row.enumerated() {
                widths[index] = max(widths[index], DisplayWidth.of(cell.text))
            }
        }
        for (index, column) in columns.enumerated() where column.width > widths[index] {
            let needed = widths.reduce(Self.gap.count * (columns.count - 1), +)
            widths[index] = min(column.width, widths[index] + max(0, (style.width ?? .max) - needed))
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
                (shown, widths) = Self.fit(columns, wordy, widths, fixed: rigid.union([0]), in: available)
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

    /// Names the columns that do not fit; nil if all fit.
    var leftOut: String? {
        let names = lacking.map { columns[$0].heading.uppercased() }
        return names.isEmpty ? nil : "No room for " + Wording.list(names)
    }

    /// The heading line.
    func heading() -> String {
        line(columns.map { TableCell($0.heading.uppercased(), .heading) })
    }

    /// The line for a row.
    func line(_ cells: [TableCell]) -> String {
        var result = ""
        // Padding is written only before the next text, to avoid trailing blanks, which are a nuisance when copying.
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

    /// The lines for a row of which nothing is cut: what a column has no room for continues on further lines.
    func wrapped(_ cells: [TableCell]) -> [String] {
        let pieces = cells.enumerated().map { index, cell in
            cut.contains(index) && !cell.isWhole
                ? DisplayWidth.wrap(cell.text, columns: widths[index]) : [cell.text]
        }
        return (0..<(shown.map { pieces[$0].count }.max() ?? 0)).map { place in
            line(
                cells.enumerated().map { index, cell in
                    let text = place < pieces[index].count ? pieces[index][place] : ""
                    return TableCell(text, cell.emphasis, isWhole: cell.isWhole)
                }
            )
        }
    }

    /// The candidates that are shown, and the widths of all columns: those that are not fixed shrink until a row fits.
    ///
    /// A column that would be narrower than the least width that it asks for leaves its room to the others.
    private static func fit(
        _ columns: [TableColumn],
        _ candidates: [Int],
        _ widths: [Int],
        fixed: Set<Int>,
        in available: Int
    ) -> (shown: [Int], widths: [Int]) {
        let least = columns.indices.map { index in
            min(widths[index], fixed.contains(index) ? Int.max : max(narrowest, columns[index].least))
        }
        let shown = room(for: least, of: candidates, in: available)
        let shrinking = shown.filter { !fixed.contains($0) }
        let taken = shown.filter(fixed.contains).reduce(gap.count * (shown.count - 1)) { $0 + widths[$1] }
        var fitted = widths
        shrink(&fitted, shrinking, to: available - taken)
        let tooNarrow = shrinking.filter { fitted[$0] < min(widths[$0], columns[$0].least) }
        if tooNarrow.isEmpty { return (shown, fitted) }
        let others = candidates.filter { !tooNarrow.contains($0) }
        return fit(columns, others, widths, fixed: fixed, in: available)
    }

    /// The columns that fit at their minimum widths, from the left; always including the first.
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
