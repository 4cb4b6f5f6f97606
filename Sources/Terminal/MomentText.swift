import CalendarDays

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Parses moments as people and programs write them: RFC 3339, and every form that this program prints.
package enum MomentText {
    /// Parses a date, which means its midnight in UTC, or a moment with its time zone.
    ///
    /// The whole text must match, since a partial match could be read as another moment.
    ///
    /// - Returns: nil for anything else, including a moment without seconds or zone.
    package static func read(_ text: String) -> Date? {
        var rest = Array(text.utf8)[...]
        guard let year = number(4, 1...9999, from: &rest), take("-", from: &rest) != nil,
            let month = number(2, 1...12, from: &rest), take("-", from: &rest) != nil,
            let ofMonth = number(2, 1...31, from: &rest),
            let day = CalendarDay(year: year, month: month, day: ofMonth)
        else { return nil }
        let midnight = Double(day.daysSince1970 * 86400)
        if rest.isEmpty { return Date(timeIntervalSince1970: midnight) }
        guard take("Tt ", from: &rest) != nil, let hour = number(2, 0...23, from: &rest),
            take(":", from: &rest) != nil, let minute = number(2, 0...59, from: &rest),
            take(":", from: &rest) != nil, let second = number(2, 0...59, from: &rest),
            let fraction = fraction(from: &rest), let offset = offset(from: &rest), rest.isEmpty
        else { return nil }
        return Date(timeIntervalSince1970: midnight + Double(hour * 3600 + minute * 60 + second - offset) + fraction)
    }

    /// The optional fraction of a second.
    private static func fraction(from rest: inout ArraySlice<UInt8>) -> Double? {
        guard take(".", from: &rest) != nil else { return 0 }
        let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        rest = rest.dropFirst(digits.count)
        return digits.isEmpty ? nil : Double("0." + String(decoding: digits, as: UTF8.self))
    }

    /// The offset of a zone from UTC in seconds: `Z`, `+01:00`, `+0100`, or `+01` as PostgreSQL prints it.
    private static func offset(from rest: inout ArraySlice<UInt8>) -> Int? {
        guard let sign = take("Zz+-", from: &rest) else { return nil }
        if sign == "Z" || sign == "z" { return 0 }
        guard let hours = number(2, 0...23, from: &rest) else { return nil }
        var minutes = 0
        if !rest.isEmpty {
            _ = take(":", from: &rest)
            guard let number = number(2, 0...59, from: &rest) else { return nil }
            minutes = number
        }
        return (hours * 3600 + minutes * 60) * (sign == "-" ? -1 : 1)
    }

    /// Removes one of the given characters from the start.
    private static func take(_ characters: String, from rest: inout ArraySlice<UInt8>) -> Character? {
        guard let first = rest.first, characters.utf8.contains(first) else { return nil }
        rest.removeFirst()
        return Character(Unicode.Scalar(first))
    }

    /// Removes the given number of digits from the start.
    private static func number(_ count: Int, _ range: ClosedRange<Int>, from rest: inout ArraySlice<UInt8>) -> Int? {
        let digits = rest.prefix(count)
        guard digits.count == count, digits.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) else {
            return nil
        }
        rest = rest.dropFirst(count)
        let number = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        return range.contains(number) ? number : nil
    }
}
