import CalendarDays

/// A date and time of day without a zone, in the Gregorian calendar.
struct CivilTime: Sendable, Hashable {
    /// Days since 1970-01-01.
    var day: Int
    /// Seconds since midnight, 0 to 86 399.
    var second: Int

    init(day: Int, second: Int) {
        self.day = day
        self.second = second
    }

    /// The civil time that is `localSeconds` after 1970-01-01 00:00 of the same local clock.
    init(localSeconds: Int) {
        let (quotient, remainder) = localSeconds.quotientAndRemainder(dividingBy: 86_400)
        day = remainder < 0 ? quotient - 1 : quotient
        second = remainder < 0 ? remainder + 86_400 : remainder
    }

    var localSeconds: Int { day * 86_400 + second }

    /// The day of the week; 0 is Sunday.
    var weekday: Int {
        let shifted = (day + 4) % 7
        return shifted < 0 ? shifted + 7 : shifted
    }

    /// The calendar date of the day.
    var date: (year: Int, month: Int, day: Int) {
        let date = CalendarDay(daysSince1970: day)
        return (date.year, date.month, date.day)
    }
}
