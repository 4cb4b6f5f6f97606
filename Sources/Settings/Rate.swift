/// So many in a length of time: `50/h`.
package struct Rate: Sendable, Hashable, CustomStringConvertible {
    package let count: Int
    package let per: Duration

    package init(count: Int, per: Duration) {
        self.count = count
        self.per = per
    }

    /// Reads `50/h`, `5/s`, `10/m`, `1000/d`.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let count = Int(parts[0]), count >= 0, let per = DurationText.read("1" + parts[1])
        else {
            return nil
        }
        self.init(count: count, per: per)
    }

    package var description: String { "\(count)/\(DurationText.write(per).dropFirst())" }
}
