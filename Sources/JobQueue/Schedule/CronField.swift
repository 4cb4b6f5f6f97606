/// One field of a cron line: the values it names, as a bit set.
struct CronField: Sendable, Hashable {
    /// Bit n is set when value n is named; the largest value is 59.
    let bits: UInt64

    /// Whether the field began with `*`: such an hour field means "every", not "at".
    let isWildcard: Bool

    func contains(_ value: Int) -> Bool { bits & (1 << UInt64(value)) != 0 }

    /// Parses `*`, `5`, `1-5`, `*/15`, `10-50/20`, names if `names` has them, and lists of these.
    init(
        _ text: Substring,
        field: String,
        range: ClosedRange<Int>,
        names: [String] = []
    ) throws(JobQueueError) {
        var bits: UInt64 = 0
        for item in text.split(separator: ",", omittingEmptySubsequences: false) {
            let parts = item.split(separator: "/", omittingEmptySubsequences: false)
            let step = parts.count == 2 ? Self.number(parts[1]) ?? 0 : 1
            guard (1...2).contains(parts.count), step > 0, step <= range.upperBound else {
                throw Self.malformed(item, field)
            }
            let span = try Self.span(parts[0], stepped: parts.count == 2, field, range, names)
            for value in stride(from: span.lowerBound, through: span.upperBound, by: step) {
                bits |= 1 << UInt64(value)
            }
        }
        self.bits = bits
        isWildcard = text.first == "*"
    }

    private static func span(
        _ text: Substring,
        stepped: Bool,
        _ field: String,
        _ range: ClosedRange<Int>,
        _ names: [String]
    ) throws(JobQueueError) -> ClosedRange<Int> {
        if text == "*" { return range }
        let ends = text.split(separator: "-", omittingEmptySubsequences: false)
        var values: [Int] = []
        for end in ends {
            // Names count from the lower bound: jan is 1, sun is 0.
            let named = names.firstIndex(of: end.lowercased()).map { $0 + range.lowerBound }
            guard let value = named ?? number(end) else { throw malformed(text, field) }
            values.append(value)
        }
        guard let low = values.first, let high = values.last, values.count <= 2, low <= high, range.contains(low),
            range.contains(high)
        else { throw malformed(text, field) }
        // "5/15" means from 5 to the end.
        return low...(values.count == 1 && stepped ? range.upperBound : high)
    }

    private static func number(_ text: Substring) -> Int? {
        guard (1...2).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int(text)
    }

    private static func malformed(_ item: Substring, _ field: String) -> JobQueueError {
        .invalid(
            "schedule",
            "has \"\(item.prefix(40))\" as \(field), which is not a value, range, step or list within bounds"
        )
    }
}
