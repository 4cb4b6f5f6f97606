import Foundation
import Terminal
import Testing

@Suite("Moments, lengths, sizes and personal data in words")
struct WordingTests {
    @Test("Moments are those of the formatter, whatever the year, at the edges of seconds, days and years too")
    func moments() {
        let style = Date.ISO8601FormatStyle(dateTimeSeparator: .space)
        let edges: [Double] = [
            -62_135_596_800, -12_219_292_800, -1, -0.001, 0, 951_782_399.999_999_9, 951_782_400, 951_868_799,
            1_709_164_800,
            4_107_542_399, 4_107_542_400, 253_402_300_799, 253_402_300_799.999, 253_402_300_800,
        ]
        let random = (0..<2000).map { _ in Double.random(in: -3e9...253_402_300_800) }
        for seconds in edges + random {
            let date = Date(timeIntervalSince1970: seconds)
            // A moment just before the next second must not be rounded up to it.
            let last = Date(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate.rounded().nextDown)
            for date in [date, last] { #expect(Wording.moment(date) == date.formatted(style)) }
        }
    }

    @Test func wording() throws {
        let date = Date(timeIntervalSince1970: 1_795_216_504.12)
        #expect(Wording.rfc3339(date) == "2026-11-20T23:15:04.120Z")
        #expect(Wording.moment(date) == "2026-11-20 23:15:04Z")
        #expect(Wording.relative(date.addingTimeInterval(-200), to: date) == "3 min 20 s ago")
        #expect(Wording.length(.seconds(90_000)) == "1 d 1 h")
        #expect(Wording.length(.milliseconds(20)) == "20 ms")
        #expect(Wording.size(999) == "999 B")
        #expect(Wording.size(999_960) == "1.0 MB")
        #expect(Wording.size(1_250_000) == "1.3 MB")
        #expect(Wording.list(["a", "b", "c"]) == "a, b and c")
        #expect(Wording.list(["a", "b", "c"], atMost: 3) == "a, b and c")
        #expect(Wording.list(["a", "b", "c"], atMost: 1) == "a and 2 more")
    }

    @Test(arguments: [
        (PersonalData("john@example.org", .email), "j***@e***.org"),
        (PersonalData("no-at-sign", .email), "n***"),
        (PersonalData("+4915112345667", .phone), "***67"),
        (PersonalData("001234.abcdef0123456789.0123", .identifier), "001234***"),
        (PersonalData("Anna", .name), "A***"),
        (PersonalData("", .email), ""),
    ])
    func masking(_ data: PersonalData, _ expected: String) {
        #expect(data.masked == expected)
        #expect("\(data)" == expected)
        #expect(String(reflecting: data) == expected)
    }
}
