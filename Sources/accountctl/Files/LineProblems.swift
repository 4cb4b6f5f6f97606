import Terminal

/// The problems with the lines of a file: all are counted, and the first 100 are shown.
struct LineProblems {
    private var count = 0
    private var told: [String] = []

    mutating func add(_ problem: String) {
        count += 1
        if told.count < 100 { told.append(problem) }
    }

    /// The text of an error message; nil if there are no problems.
    var text: String? {
        guard count > 0 else { return nil }
        let rest = count - told.count
        return told.joined(separator: "\n") + (rest > 0 ? "\nand \(Wording.count(rest, "more line"))" : "")
    }
}
