import Terminal

/// Jobs read from a file or from standard input, one per line; blank lines are skipped.
struct JobList {
    /// The most jobs taken at once.
    static let limit = 100_000
    /// The length limit of a line in bytes; the line of a valid job is always shorter.
    private static let longestLine = 1 << 20

    private(set) var orders: [JobOrder] = []

    /// Reads a list.
    ///
    /// - Parameter path: a file, or `-` for standard input.
    /// - Throws: ``CommandError`` that names every invalid line and its field.
    init(path: String) throws {
        let name = InputLines.name(of: path)
        var problems = LineProblems()
        try InputLines.forEach(in: path, longest: Self.longestLine, collecting: &problems) { text in
            if text.allSatisfy(\.isWhitespace) { return }
            guard text.utf8.count < Self.longestLine else { throw LineProblem("is too long for a job") }
            let order = try JobLine(text).order()
            guard orders.count < Self.limit else {
                throw CommandError(.usage, "\(name) has more than \(Self.limit) jobs: split it")
            }
            orders.append(order)
        }
        if let text = problems.text {
            throw CommandError(
                .usage,
                text,
                hint: "Nothing was done. A line is a JSON object with kind, and the options of one job as fields."
            )
        }
        if orders.isEmpty { throw CommandError(.usage, "\(name) holds no job") }
    }
}
