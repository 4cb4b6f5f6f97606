/// A day of the proleptic Gregorian calendar.
package struct CalendarDay: Sendable, Hashable {
    /// The year; 0 is 1 BC.
    package let year: Int
    package let month: Int
    package let day: Int

    /// The days from 0000-03-01 to 1970-01-01; eras of 400 years begin in March, so that the leap day is the last of
    /// its year.
    private static let firstDay = 719_468

    /// The day at the given number of days after 1970-01-01.
    package init(daysSince1970 days: Int) {
        let shifted = days + Self.firstDay
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
    }

    /// Creates a day; nil if it does not exist, such as the 31st of February.
    package init?(year: Int, month: Int, day: Int) {
        (self.year, self.month, self.day) = (year, month, day)
        guard (1...12).contains(month), (1...31).contains(day), Self(daysSince1970: daysSince1970) == self else {
            return nil
        }
    }

    /// The number of days after 1970-01-01.
    package var daysSince1970: Int {
        let marchYear = month <= 2 ? year - 1 : year
        let era = (marchYear >= 0 ? marchYear : marchYear - 399) / 400
        let yearOfEra = marchYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - Self.firstDay
    }
}
