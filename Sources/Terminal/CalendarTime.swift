import CalendarDays

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A date and time of day in UTC, to the second.
struct CalendarTime: Sendable, Equatable {
    let day: CalendarDay
    let hour: Int
    let minute: Int
    let second: Int

    /// Rounds a moment down to its second; nil outside the years 1970 to 9999.
    init?(_ date: Date) {
        // Rounded down before adding the seconds from 1970 to 2001, since the sum could round up to the next second.
        let whole = date.timeIntervalSinceReferenceDate.rounded(.down)
        let first = -Date.timeIntervalBetween1970AndReferenceDate
        guard (0..<253_402_300_800).contains(whole - first) else { return nil }
        let seconds = Int(whole - first)
        (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60)
        day = CalendarDay(daysSince1970: seconds / 86400)
    }

    /// `2026-11-20 23:15:04Z`.
    var text: String {
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(day.year)-\(two(day.month))-\(two(day.day)) \(two(hour)):\(two(minute)):\(two(second))Z"
    }
}
