/// A table of figures for people.
struct FigureTable {
    private let figures: [Figure]

    init(_ figures: [Figure]) {
        self.figures = figures
    }

    var text: String {
        let header = ["figure", "value", "unit", "floor", "ratio", "goal", "min", "max", "runs"]
        let rows = figures.map { figure in
            [
                figure.name, Self.number(figure.value), figure.unit, figure.floor.map(Self.number) ?? "",
                figure.ratio.map(Self.number) ?? "", figure.goal, Self.number(figure.min), Self.number(figure.max),
                String(figure.runs),
            ]
        }
        let widths = header.indices.map { column in ([header] + rows).map { $0[column].count }.max() ?? 0 }
        return ([header] + rows).map { row in
            zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }.joined(separator: "  ")
        }.joined(separator: "\n")
    }

    /// The number with about three significant digits.
    private static func number(_ value: Double) -> String {
        if value.magnitude >= 100 { return String(Int(value.rounded())) }
        let scale: Double = value.magnitude >= 10 ? 10 : value.magnitude >= 1 ? 100 : 1000
        return String((value * scale).rounded() / scale)
    }
}
