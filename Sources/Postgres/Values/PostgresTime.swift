import CalendarDays

/// Parses the text format of times in ISO style, which is the style that the connection requests.
///
/// Implemented here because Foundation's formatters keep only milliseconds and support neither infinity nor years BC.
enum PostgresTime {
    /// Seconds from 2000-01-01, PostgreSQL's epoch, to 2001-01-01, Foundation's reference date.
    static let referenceOffset: Double = 31_622_400

    private static let dayLength: Int64 = 86_400_000_000
    /// Days from 1970-01-01 to 2000-01-01.
    private static let daysTo2000: Int64 = 10_957

    /// Microseconds since 2000-01-01 00:00 UTC of `2026-11-20 23:12:56.123456+05:30`, of `infinity` and of times `BC`.
    static func microseconds(_ text: String) -> Int64? {
        if text == "infinity" { return .max }
        if text == "-infinity" { return .min }
        var scanner = Scanner(text)
        guard let year = scanner.number(), scanner.take("-"), let month = scanner.number(), scanner.take("-"),
            let day = scanner.number(), scanner.take(" "), let hour = scanner.number(), scanner.take(":"),
            let minute = scanner.number(), scanner.take(":"), let second = scanner.number(),
            hour < 25, minute < 60, second < 61
        else { return nil }
        let fraction = scanner.take(".") ? scanner.fraction() : 0
        guard let offset = scanner.offset() else { return nil }
        let isBC = scanner.takeAll(" BC")
        guard scanner.isAtEnd,
            let date = CalendarDay(year: Int(isBC ? 1 - year : year), month: Int(month), day: Int(day))
        else { return nil }
        let days = Int64(date.daysSince1970) - daysTo2000
        return days * dayLength + ((hour * 60 + minute) * 60 + second - offset) * 1_000_000 + fraction
    }

    private struct Scanner {
        private var rest: Substring.UTF8View

        init(_ text: String) {
            rest = text[...].utf8
        }

        var isAtEnd: Bool { rest.isEmpty }

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard rest.first == UInt8(ascii: character) else { return false }
            rest.removeFirst()
            return true
        }

        mutating func takeAll(_ word: String) -> Bool {
            guard rest.starts(with: word.utf8) else { return false }
            rest.removeFirst(word.utf8.count)
            return true
        }

        /// Takes up to nine digits, so that nothing overflows.
        mutating func number() -> Int64? {
            var value: Int64 = 0
            var digits = 0
            while let byte = rest.first, (48...57).contains(byte), digits < 9 {
                value = value * 10 + Int64(byte - 48)
                digits += 1
                rest.removeFirst()
            }
            return digits > 0 ? value : nil
        }

        /// Takes the digits after the decimal point, as microseconds.
        mutating func fraction() -> Int64 {
            var value: Int64 = 0
            var digits = 0
            while let byte = rest.first, (48...57).contains(byte) {
                if digits < 6 { value = value * 10 + Int64(byte - 48) }
                digits += 1
                rest.removeFirst()
            }
            for _ in digits..<max(digits, 6) { value *= 10 }
            return value
        }

        /// Takes the offset from UTC, as `+00`, `-03:30` or `+00:53:28`, in seconds.
        mutating func offset() -> Int64? {
            let sign: Int64 = take("-") ? -1 : 1
            if sign == 1, !take("+") { return nil }
            guard let hours = number() else { return nil }
            let minutes = take(":") ? number() ?? 0 : 0
            let seconds = take(":") ? number() ?? 0 : 0
            return sign * ((hours * 60 + minutes) * 60 + seconds)
        }
    }
}
