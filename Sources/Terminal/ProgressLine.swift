/// A line that shows the progress of a long operation.
package struct ProgressLine: Sendable, Equatable {
    var label: String
    var done: Int
    var total: Int?
    var elapsed: Duration

    package init(label: String, done: Int, total: Int?, elapsed: Duration) {
        self.label = label
        self.done = done
        self.total = total
        self.elapsed = elapsed
    }

    /// The line, such as `Deleting [#####-----] 50/100  12/s  4 s left`.
    package func text(barColumns: Int = 24) -> String {
        let seconds = elapsed / .seconds(1)
        let rate = seconds > 0 ? Double(done) / seconds : 0
        var parts = [label]
        if let total, total > 0 {
            let filled = min(barColumns, barColumns * done / total)
            let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: barColumns - filled)
            parts.append("[\(bar)] \(done)/\(total)")
        } else {
            parts.append("\(done)")
        }
        if rate > 0 {
            parts.append(rate >= 10 ? "\(Int(rate.rounded()))/s" : "\(Double((rate * 10).rounded()) / 10)/s")
            if let total, total > done {
                parts.append(Wording.length(.seconds(Int((Double(total - done) / rate).rounded(.up)))) + " left")
            }
        }
        return parts.joined(separator: "  ")
    }
}
