import Foundation
import Testing

@testable import JobQueue

@Suite struct CronScheduleTests {
    /// Berlin in 2026: forward on 29 March 02:00 to 03:00, back on 25 October 03:00 to 02:00.
    static let berlin = ZoneRules(
        initialOffset: 3600,
        transitions: [
            .init(instant: instant("2026-03-29T01:00:00Z"), offset: 7200),
            .init(instant: instant("2026-10-25T01:00:00Z"), offset: 3600),
        ]
    )

    /// Lord Howe shifts by half an hour: forward on 4 October 2026 at 02:00 (+10:30) to 02:30.
    static let lordHowe = ZoneRules(
        initialOffset: 37_800,
        transitions: [.init(instant: instant("2026-10-03T15:30:00Z"), offset: 39_600)]
    )

    static func instant(_ text: String) -> Int {
        guard let date = try? Date(text, strategy: .iso8601) else { return .min }
        return Int(date.timeIntervalSince1970)
    }

    private func instants(_ line: String, _ start: String, _ end: String, in zone: ZoneRules) throws -> [String] {
        try CronSchedule(line)
            .instants(after: Self.instant(start), through: Self.instant(end), in: zone)
            .map { Date(timeIntervalSince1970: Double($0)).formatted(.iso8601) }
    }

    @Test func aDailyTimeKeepsItsLocalHour() throws {
        let found = try instants("30 6 * * *", "2026-03-28T00:00:00Z", "2026-03-31T00:00:00Z", in: Self.berlin)
        #expect(found == ["2026-03-28T05:30:00Z", "2026-03-29T04:30:00Z", "2026-03-30T04:30:00Z"])
    }

    @Test func aSkippedTimeRunsWhenTheClocksJump() throws {
        let found = try instants("30 2 * * *", "2026-03-29T00:00:00Z", "2026-03-30T00:30:00Z", in: Self.berlin)
        #expect(found == ["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"])
        let half = try instants("15 2 * * *", "2026-10-03T12:00:00Z", "2026-10-03T20:00:00Z", in: Self.lordHowe)
        #expect(half == ["2026-10-03T15:30:00Z"])
    }

    @Test func aRepeatedTimeRunsOnce() throws {
        let found = try instants("30 2 * * *", "2026-10-24T12:00:00Z", "2026-10-25T12:00:00Z", in: Self.berlin)
        #expect(found == ["2026-10-25T00:30:00Z"])
    }

    @Test func anIntervalRunsEveryRealHour() throws {
        let back = try instants("0 * * * *", "2026-10-24T23:30:00Z", "2026-10-25T02:30:00Z", in: Self.berlin)
        #expect(back == ["2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"])
        let forward = try instants("*/30 */1 * * *", "2026-03-29T00:15:00Z", "2026-03-29T01:45:00Z", in: Self.berlin)
        #expect(forward == ["2026-03-29T00:30:00Z", "2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"])
    }

    @Test func eitherDayFieldMatches() throws {
        let found = try instants("0 0 13 * fri", "2026-11-01T00:00:00Z", "2026-11-14T00:00:00Z", in: .utc)
        #expect(found == ["2026-11-06T00:00:00Z", "2026-11-13T00:00:00Z"])
        let both = try instants("0 0 1-7 * sun", "2026-11-01T00:00:01Z", "2026-11-09T00:00:00Z", in: .utc)
        #expect(both.count == 7)
    }

    @Test func sundayIsZeroAndSeven() throws {
        for line in ["0 0 * * 0", "0 0 * * 7", "0 0 * * sun"] {
            let found = try instants(line, "2026-11-20T00:00:00Z", "2026-11-30T00:00:00Z", in: .utc)
            #expect(found == ["2026-11-22T00:00:00Z", "2026-11-29T00:00:00Z"])
        }
    }

    @Test func latestAndNextFindRareDays() throws {
        let leap = try CronSchedule("0 12 29 2 *")
        #expect(
            leap.next(after: Self.instant("2027-01-01T00:00:00Z"), within: 500, in: .utc)
                == Self.instant("2028-02-29T12:00:00Z")
        )
        #expect(
            leap.latest(through: Self.instant("2028-03-01T00:00:00Z"), in: .utc)
                == Self.instant("2028-02-29T12:00:00Z")
        )
        let daily = try CronSchedule("@daily")
        #expect(
            daily.latest(through: Self.instant("2026-11-20T00:00:00Z"), in: .utc)
                == Self.instant("2026-11-20T00:00:00Z")
        )
    }

    /// Compares civil dates with Foundation's calendar, which does not use our arithmetic.
    @Test func civilDatesAgreeWithTheCalendar() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        for day in stride(from: -20_000, through: 60_000, by: 17) {
            let parts = calendar.dateComponents(
                [.year, .month, .day, .weekday],
                from: Date(timeIntervalSince1970: Double(day) * 86_400)
            )
            let civil = CivilTime(day: day, second: 0)
            #expect(civil.date.year == parts.year)
            #expect(civil.date.month == parts.month)
            #expect(civil.date.day == parts.day)
            #expect(civil.weekday + 1 == parts.weekday)
        }
    }

    @Test(arguments: [
        "", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *", "* * * 13 *", "* * * * 8",
        "*/0 * * * *", "5-1 * * * *", "a * * * *", "1,, * * * *", "-1 * * * *", "1-2-3 * * * *", "1/2/3 * * * *",
        "* * 31 2 *", "* * 30,31 feb *", "@fortnightly", "١ * * * *", "999999999999999999999 * * * *",
    ])
    func aMalformedLineIsRefusedNamingTheField(_ line: String) {
        let error = #expect(throws: JobQueueError.self) { try CronSchedule(line) }
        #expect(error?.code == .invalidField)
        #expect(error?.field == "schedule")
    }
}
