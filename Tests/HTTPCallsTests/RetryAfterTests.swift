import Foundation
import HTTPCalls
import Testing

@Suite struct RetryAfterTests {
    /// Sunday, 6 November 1994, 08:49:37 GMT: the date of RFC 9110's example.
    let example = Date(timeIntervalSince1970: 784_111_777)

    @Test(arguments: [("0", 0), ("7", 7), (" 120 ", 120), ("3600", 3600), ("3601", 3600)])
    func seconds(text: String, expected: Int) {
        #expect(RetryAfter.parse(text, now: example) == .seconds(expected))
    }

    @Test func moreDigitsThanAnIntegerHoldsIsTheLongestWait() {
        #expect(RetryAfter.parse("99999999999999999999999", now: example) == RetryAfter.longest)
    }

    @Test func dateIsCountedFromNow() {
        let now = example.addingTimeInterval(-90)
        #expect(RetryAfter.parse("Sun, 06 Nov 1994 08:49:37 GMT", now: now) == .seconds(90))
    }

    @Test func dateInThePastIsNoWait() {
        #expect(RetryAfter.parse("Sun, 06 Nov 1994 08:49:37 GMT", now: example.addingTimeInterval(5)) == .zero)
    }

    @Test(
        arguments: [
            "", "soon", "-5", "1.5", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Foo 1994 08:49:37 GMT",
            "Tue, 31 Feb 2026 08:49:37 GMT", "Sun, 29 Feb 2026 08:49:37 GMT", "Fri, 32 Dec 2026 08:49:37 GMT",
        ]
    )
    func anythingElseIsNil(text: String) {
        #expect(RetryAfter.parse(text, now: example) == nil)
    }

    @Test func datesAgreeWithFoundationOverTwoCenturies() throws {
        let names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(identifier: "UTC"))
        for day in stride(from: 0, to: 73_000, by: 13) {
            let date = Date(timeIntervalSince1970: Double(day) * 86400 + 3661)
            let parts = calendar.dateComponents([.year, .month, .day], from: date)
            let (year, month, dayOfMonth) = (parts.year ?? 0, parts.month ?? 1, parts.day ?? 0)
            let dayText = dayOfMonth < 10 ? "0\(dayOfMonth)" : "\(dayOfMonth)"
            #expect(HTTPDate.parse("Xxx, \(dayText) \(names[month - 1]) \(year) 01:01:01 GMT") == date)
        }
    }
}
