/// A count per duration: `50/h`.
package struct Rate: Sendable, Hashable, CustomStringConvertible {
    package let count: Int
    package let per: Duration

    package init(count: Int, per: Duration) {
        self.count = count
        self.per = per
    }

    /// The maximum count, so that an absurdly high one does not overflow in calculations.
    static let limit = 1_000_000_000

    private static let units: [Substring: Duration] = [
        "s": .seconds(1), "m": .seconds(60), "h": .seconds(3600), "d": .seconds(86_400),
    ]

    /// Parses `50/h`, `5/s`, `10/m`, `1000/d`: a count and a single unit, not `50/2h`.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let count = Int(parts[0]), (0...Self.limit).contains(count),
            let per = Self.units[parts[1]]
        else { return nil }
        self.init(count: count, per: per)
    }

    package var description: String { "\(count)/\(DurationText.write(per).dropFirst())" }
}
