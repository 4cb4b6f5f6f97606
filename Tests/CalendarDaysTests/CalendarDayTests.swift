import CalendarDays
import Testing

@Suite("Calendar days")
struct CalendarDayTests {
    @Test("Every day of four hundred years follows the one before it, and its number and its date agree")
    func everyDay() throws {
        var last = CalendarDay(daysSince1970: 0)
        #expect((last.year, last.month, last.day) == (1970, 1, 1))
        for days in 1...146_097 {
            let day = CalendarDay(daysSince1970: days)
            let isNext =
                day.month == last.month && day.year == last.year
                ? day.day == last.day + 1
                : day.day == 1
                    && (day.month == last.month + 1 && day.year == last.year
                        || (day.month, last.month) == (1, 12) && day.year == last.year + 1)
            guard isNext, day.daysSince1970 == days else {
                Issue.record("\(day) after \(last)")
                return
            }
            last = day
        }
        #expect((last.year, last.month, last.day) == (2370, 1, 1))
    }

    @Test("Days before the year 1 are counted like all others")
    func early() {
        for days in -719_900 ... -719_000 {
            #expect(CalendarDay(daysSince1970: days).daysSince1970 == days)
        }
        #expect(CalendarDay(daysSince1970: -719_469) == CalendarDay(year: 0, month: 2, day: 29))
        #expect(CalendarDay(daysSince1970: -719_468 - 146_097) == CalendarDay(year: -400, month: 3, day: 1))
    }

    @Test("A day that its month does not have is refused")
    func noDay() {
        for (year, month, day) in [
            (2026, 2, 29), (2100, 2, 29), (2026, 2, 31), (2026, 4, 31), (2026, 13, 1), (2026, 0, 1), (2026, 1, 0),
            (2026, 1, Int.max),
        ] {
            #expect(CalendarDay(year: year, month: month, day: day) == nil, "\(year) \(month) \(day)")
        }
        for (year, month, day) in [(2000, 2, 29), (2028, 2, 29), (1, 1, 1), (9999, 12, 31)] {
            #expect(CalendarDay(year: year, month: month, day: day) != nil, "\(year) \(month) \(day)")
        }
    }
}
