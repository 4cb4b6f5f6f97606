#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Formats times, durations and sizes as text.
package enum Wording {
    /// `2026-11-20T23:15:04.120Z`: RFC 3339 in UTC, for programs.
    package static func rfc3339(_ date: Date) -> String {
        // The formatter truncates: without the added half millisecond, 04.120, stored as 04.1199…, would read 04.119.
        (date + 0.0005).formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    /// `2026-11-20 23:15:04Z`, for people.
    package static func moment(_ date: Date) -> String {
        // The formatter's first use looks up calendars and time zones, which takes longer than the rest of a short
        // list.
        CalendarTime(date)?.text ?? date.formatted(Date.ISO8601FormatStyle(dateTimeSeparator: .space))
    }

    /// `3 min ago`, `in 2 d`, `now`.
    package static func relative(_ date: Date, to now: Date) -> String {
        let seconds = date.timeIntervalSince(now)
        if abs(seconds) < 1 { return "now" }
        // Rounded, since the difference of two dates is a little off: an hour could read as 59 min 59 s.
        let length = length(.milliseconds(Int64((abs(seconds) * 1000).rounded())))
        return seconds < 0 ? length + " ago" : "in " + length
    }

    /// The two largest units of a duration: `3 h 20 min`, `45 s`, `120 ms`.
    package static func length(_ duration: Duration) -> String {
        if duration < .zero { return "-" + length(.zero - duration) }
        let seconds = duration.components.seconds
        if seconds == 0 { return "\(duration.components.attoseconds / 1_000_000_000_000_000) ms" }
        let units: [(Int64, String)] = [(86400, "d"), (3600, "h"), (60, "min"), (1, "s")]
        guard let first = units.firstIndex(where: { seconds >= $0.0 }) else { return "0 s" }
        let (size, name) = units[first]
        var text = "\(seconds / size) \(name)"
        if first + 1 < units.count {
            let (nextSize, nextName) = units[first + 1]
            let rest = seconds % size / nextSize
            if rest > 0 { text += " \(rest) \(nextName)" }
        }
        return text
    }

    /// `512 B`, `1.2 MB`: decimal units.
    package static func size(_ bytes: Int64) -> String {
        guard bytes.magnitude >= 1000 else { return "\(bytes) B" }
        var value = Double(bytes)
        var unit = ""
        for name in ["kB", "MB", "GB", "TB", "PB"] {
            value /= 1000
            unit = name
            // 999.95 would round to 1000.0 of the smaller unit.
            if value.magnitude < 999.95 { break }
        }
        let tenths = Int64((value * 10).rounded())
        return "\(tenths / 10).\((tenths % 10).magnitude) \(unit)"
    }

    /// `1 row`, `3 rows`.
    package static func count(_ number: Int, _ one: String, _ many: String? = nil) -> String {
        "\(number) \(number == 1 ? one : many ?? one + "s")"
    }

    /// `a`, `a and b`, `a, b and c`; `a and 2 more` with a limit of one.
    package static func list(_ items: [String], _ joiner: String = "and", atMost limit: Int = .max) -> String {
        let more = items.count - limit
        let told: ArraySlice<String> = more > 0 ? items.prefix(limit) + ["\(more) more"] : items[...]
        guard let last = told.last else { return "" }
        let head = told.dropLast()
        return head.isEmpty ? last : head.joined(separator: ", ") + " \(joiner) " + last
    }
}
