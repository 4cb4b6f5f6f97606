/// Durations as written in settings: `90s`, `15m`, `1h30m`, `7d`, `250ms`, `0`.
package enum DurationText {
    private static let units: [(name: String, milliseconds: Int64)] = [
        ("w", 604_800_000), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
    ]

    /// Parses a duration; every number except 0 needs a unit.
    package static func read(_ text: String) -> Duration? {
        if text == "0" { return .zero }
        var rest = Substring(text)
        var total: Int64 = 0
        var lastUnit = Int64.max
        while !rest.isEmpty {
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            rest = rest.dropFirst(digits.count)
            let letters = rest.prefix { $0.isLetter }
            rest = rest.dropFirst(letters.count)
            // Units must decrease, so that likely slips such as 5m1h or 1h1h are refused.
            guard let number = Int64(digits), let unit = units.first(where: { $0.name == letters }),
                unit.milliseconds < lastUnit
            else { return nil }
            lastUnit = unit.milliseconds
            let (part, tooLarge) = number.multipliedReportingOverflow(by: unit.milliseconds)
            let (sum, overflow) = total.addingReportingOverflow(part)
            if tooLarge || overflow { return nil }
            total = sum
        }
        return text.isEmpty ? nil : .milliseconds(total)
    }

    /// Formats a duration in the largest units that represent it exactly.
    package static func write(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        var rest = seconds * 1000 + attoseconds / 1_000_000_000_000_000
        if rest == 0 { return "0" }
        var text = ""
        for unit in units where unit.name != "w" && rest >= unit.milliseconds {
            text += "\(rest / unit.milliseconds)\(unit.name)"
            rest %= unit.milliseconds
        }
        return text
    }
}
