import Synchronization
import Testing

@testable import Waiting

@Suite struct RecentlyGoodTests {
    /// A good result is reused for a while, separately for each key; a bad result is never reused.
    @Test func onlyWhatIsGoodIsRemembered() async throws {
        let elapsed = Mutex(Duration.zero)
        let start = ContinuousClock.now
        let asked = Mutex<[String]>([])
        let tests = RecentlyGood<String, String>(now: { start + elapsed.withLock(\.self) }) { key in
            asked.withLock { $0.append(key) }
            return key == "bad" ? "refused" : nil
        }
        for _ in 0..<2 {
            #expect(try await tests.trouble(with: "good") == nil)
            #expect(try await tests.trouble(with: "bad") == "refused")
        }
        #expect(asked.withLock(\.self) == ["good", "bad", "bad"])
        elapsed.withLock { $0 = RecentlyGood<String, String>.lifetime }
        #expect(try await tests.trouble(with: "good") == nil)
        #expect(asked.withLock(\.self).count == 4)
    }
}
