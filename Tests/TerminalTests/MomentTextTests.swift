import Foundation
import Terminal
import Testing

@Suite("Moments as people type them")
struct MomentTextTests {
    @Test("The moments that we print, for people and for programs, can be read back")
    func roundTrip() {
        for seconds in [0.0, 951_825_599, 951_825_600, 1_700_000_000, 4_107_542_399, 253_402_300_799] {
            let moment = Date(timeIntervalSince1970: seconds)
            #expect(MomentText.read(Wording.moment(moment)) == moment)
            #expect(MomentText.read(Wording.rfc3339(moment)) == moment)
            #expect(MomentText.read(String(Wording.moment(moment).prefix(10))).map { $0 <= moment } == true)
        }
        #expect(MomentText.read("2026-11-20") == Date(timeIntervalSince1970: 1_795_132_800))
        #expect(MomentText.read("0001-01-01") == Date(timeIntervalSince1970: -62_135_596_800))
    }

    @Test("A zone counts, and so does a part of a second")
    func zones() {
        let noon = Date(timeIntervalSince1970: 1_795_176_000)
        for text in [
            "2026-11-20T12:00:00Z", "2026-11-20t12:00:00z", "2026-11-20 12:00:00Z", "2026-11-20T13:30:00+01:30",
            "2026-11-20 13:00:00+01", "2026-11-20 07:00:00-0500", "2026-11-20T12:00:00.000Z",
        ] {
            #expect(MomentText.read(text) == noon, "\(text)")
        }
        let later = MomentText.read("2026-11-20T12:00:00.250001+00:00")
        #expect(later.map { abs($0.timeIntervalSince(noon) - 0.250001) < 1e-6 } == true)
    }

    @Test(
        "Text that only begins like a moment is refused",
        arguments: [
            "", "2026", "2026-11", "2026-11-2", "2026-11-20 ", " 2026-11-20", "2026-11-20garbage", "2026-11-20T",
            "2026-11-20T18", "2026-11-20T18:00", "2026-11-20T18:00Z", "2026-11-20T18:00:00", "2026-11-20 18:00:00",
            "2026-11-20  18:00:00Z", "2026-11-20T18:00:00Zx", "2026-11-20T18:00:00 Z", "2026-11-20T18:00:00.Z",
            "2026-11-20T18:00:00+1", "2026-11-20T18:00:00+01:", "2026-11-20T18:00:00+01:0", "2026-11-20T18:00:00+24:00",
            "2026-11-20T24:00:00Z", "2026-11-20T18:60:00Z", "2026-11-20T18:00:60Z", "2026-13-01", "2026-00-01",
            "2026-02-29", "2026-11-31", "2026-11-00", "0000-01-01", "20261120", "2026/11/20", "+2026-11-20",
            "２０２６-11-20", "2026-11-20T18:00:00Z\n", "2026-11-20T18:00:00Z 2026-11-21",
        ]
    )
    func refused(_ text: String) {
        #expect(MomentText.read(text) == nil)
    }
}
