/// A cron line of five fields: minute, hour, day of month, month, day of week.
///
/// Supports names (`jan`, `mon`), lists, ranges and steps, and `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`.
/// As in cron, a day matches when either day field matches, unless one of them begins with `*`. Sunday is 0 or 7.
struct CronSchedule: Sendable, Hashable {
    private let minutes: CronField
    private let hours: CronField
    private let monthDays: CronField
    private let months: CronField
    private let weekdays: CronField

    /// The line as given.
    let line: String

    /// Parses a line.
    ///
    /// - Throws: ``JobQueueError`` with field `schedule`, naming the invalid part.
    init(_ line: String) throws(JobQueueError) {
        self.line = line
        let fields = (Self.nicknames[line] ?? line).split(whereSeparator: { $0 == " " || $0 == "\t" })
        guard fields.count == 5 else {
            throw .invalid("schedule", "must have five fields: minute hour day month weekday")
        }
        minutes = try CronField(fields[0], field: "minute", range: 0...59)
        hours = try CronField(fields[1], field: "hour", range: 0...23)
        monthDays = try CronField(fields[2], field: "day of month", range: 1...31)
        months = try CronField(
            fields[3],
            field: "month",
            range: 1...12,
            names: ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
        )
        weekdays = try CronField(
            fields[4],
            field: "weekday",
            range: 0...7,
            names: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
        )
        guard matchesSomeDay else {
            throw .invalid("schedule", "names a day that no month of it has")
        }
    }

    private static let nicknames = [
        "@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
        "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
    ]

    /// The instants of the schedule after one instant and up to another, both in seconds since 1970 UTC.
    ///
    /// A time of day that the clocks skip runs at the instant of the jump, and a repeated one runs only the first time.
    /// If the hour field begins with `*`, the schedule means an interval instead: skipped times are left out, and
    /// repeated ones run both times.
    func instants(after start: Int, through end: Int, in zone: ZoneRules) -> [Int] {
        guard start < end else { return [] }
        var found: Set<Int> = []
        // One more day on both sides covers every UTC offset.
        let first = CivilTime(localSeconds: start).day - 1
        let last = CivilTime(localSeconds: end).day + 1
        for day in first...last where matches(day: day) {
            for hour in 0..<24 where hours.contains(hour) {
                for minute in 0..<60 where minutes.contains(minute) {
                    let civil = CivilTime(day: day, second: hour * 3600 + minute * 60)
                    for instant in resolve(civil, in: zone) where instant > start && instant <= end {
                        found.insert(instant)
                    }
                }
            }
        }
        return found.sorted()
    }

    /// The latest instant at or before `instant`, at most `days` days earlier.
    func latest(through instant: Int, within days: Int = 400, in zone: ZoneRules) -> Int? {
        var end = instant
        for _ in 0..<days {
            if let found = instants(after: end - 86_400, through: end, in: zone).last { return found }
            end -= 86_400
        }
        return nil
    }

    /// The first instant after `instant`, at most `days` days later.
    func next(after instant: Int, within days: Int = 400, in zone: ZoneRules) -> Int? {
        var start = instant
        for _ in 0..<days {
            if let found = instants(after: start, through: start + 86_400, in: zone).first { return found }
            start += 86_400
        }
        return nil
    }

    private func resolve(_ civil: CivilTime, in zone: ZoneRules) -> [Int] {
        switch zone.instants(of: civil) {
        case .once(let instant): [instant]
        case .twice(let first, let second): hours.isWildcard ? [first, second] : [first]
        case .skipped(let jump): hours.isWildcard ? [] : [jump]
        }
    }

    private func matches(day: Int) -> Bool {
        let civil = CivilTime(day: day, second: 0)
        let date = civil.date
        guard months.contains(date.month) else { return false }
        let byDate = monthDays.contains(date.day)
        let byWeekday = weekdays.contains(civil.weekday) || (civil.weekday == 0 && weekdays.contains(7))
        return monthDays.isWildcard || weekdays.isWildcard ? byDate && byWeekday : byDate || byWeekday
    }

    /// Whether the schedule matches any day: dates such as 31 February would silently never run.
    private var matchesSomeDay: Bool {
        guard weekdays.isWildcard else { return true }
        let lengths = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        return (1...12).contains { month in
            months.contains(month) && (1...lengths[month - 1]).contains(where: monthDays.contains)
        }
    }
}
