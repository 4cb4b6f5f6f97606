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

    /// 0 is Sunday.
    var weekday: Int {
        let shifted = (day + 4) % 7
        return shifted < 0 ? shifted + 7 : shifted
    }

    /// Year, month and day of month; the algorithm counts in eras of 400 years that begin in March.
    var date: (year: Int, month: Int, day: Int) {
        let shifted = day + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }
}
