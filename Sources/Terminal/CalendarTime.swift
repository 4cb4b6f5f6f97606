#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A second by the calendar and the clock in UTC.
struct CalendarTime: Sendable, Equatable {
    let year: Int
    let month: Int
    let day: Int
    let hour: Int
    let minute: Int
    let second: Int

    /// The second that a moment lies in; nil outside the years 1970 to 9999.
    init?(_ date: Date) {
        // Of the stored number itself: its sum with the seconds up to 2001 may be rounded up to the next one.
        let whole = date.timeIntervalSinceReferenceDate.rounded(.down)
        let first = -Date.timeIntervalBetween1970AndReferenceDate
        guard (0..<253_402_300_800).contains(whole - first) else { return nil }
        let seconds = Int(whole - first)
        (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60)
        // Eras of 400 years, whose years begin in March: the leap day is the last of its year.
        let days = seconds / 86400 + 719_468
        let dayOfEra = days % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = days / 146_097 * 400 + yearOfEra + (month <= 2 ? 1 : 0)
    }

    /// `2026-11-20 23:15:04Z`.
    var text: String {
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(year)-\(two(month))-\(two(day)) \(two(hour)):\(two(minute)):\(two(second))Z"
    }
}
