import Foundation
import TestSupport
import Testing

@testable import SignInWithApple

extension AppleKeySet {
    fileprivate var keyIDs: [String] { keys.keys.sorted() }
}

@Suite(.timeLimit(.minutes(5))) struct KeyCacheTests {
    let start = Date(timeIntervalSince1970: 1_750_000_000)

    private func isFetch(_ decision: KeyCache.Decision) -> Bool {
        if case .fetch = decision { true } else { false }
    }

    private func used(_ decision: KeyCache.Decision) -> [String]? {
        if case .use(let lookup) = decision { lookup.set?.keyIDs } else { nil }
    }

    private func refreshed(_ decision: KeyCache.Decision) -> [String]? {
        if case .refresh(let lookup) = decision { lookup.set?.keyIDs } else { nil }
    }

    private func decide(_ cache: KeyCache, _ keyID: String, after seconds: Double) -> KeyCache.Decision {
        cache.decide(need: keyID, arrived: start + seconds, at: start + seconds)
    }

    private func begin(_ cache: inout KeyCache, at now: Date, isRefused: Bool = false) {
        let began = cache.begin(at: now)
        #expect(began != isRefused)
    }

    private func filled() throws -> KeyCache {
        var cache = KeyCache()
        begin(&cache, at: start)
        cache.finish(try Signer.keySet(.first))
        return cache
    }

    @Test func aKnownKeyNeedsNoFetchForAnHour() throws {
        let cache = try filled()
        #expect(used(decide(cache, "first-key", after: 3599)) == ["first-key"])
        // And then nobody waits for it.
        #expect(refreshed(decide(cache, "first-key", after: 3600)) == ["first-key"])
    }

    @Test func anUnknownKeyFetchesOnceInThirtySeconds() throws {
        var cache = try filled()
        #expect(used(decide(cache, "new", after: 29)) == ["first-key"])
        #expect(isFetch(decide(cache, "new", after: 30)))
        begin(&cache, at: start + 30)
        cache.finish(try Signer.keySet(.first))
        for second in 31..<60 {
            #expect(used(decide(cache, "kid-\(second)", after: Double(second))) == ["first-key"])
            begin(&cache, at: start + Double(second), isRefused: true)
        }
        #expect(isFetch(decide(cache, "new", after: 60)))
    }

    /// A set that was asked for before the token came, or just after, does not show that the token's key is not
    /// Apple's: a new key takes a quarter of an hour to spread.
    @Test func aMissingKeyIsJudgedByASetThatIsWellNewerThanTheToken() throws {
        var cache = try filled()
        let early = start - 900
        #expect(cache.lookup(arrived: early, at: start + 100).isConclusive)
        #expect(!cache.lookup(arrived: early + 1, at: start + 100).isConclusive)
        begin(&cache, at: start + 40)
        #expect(!cache.lookup(arrived: early + 30, at: start + 100).isConclusive)
        cache.finish(nil)
        #expect(!cache.lookup(arrived: early + 30, at: start + 100).isConclusive)
        begin(&cache, at: start + 80)
        cache.finish(try Signer.keySet(.first))
        #expect(cache.lookup(arrived: early + 30, at: start + 100).isConclusive)
        #expect(!cache.lookup(arrived: early + 81, at: start + 100).isConclusive)
        // What is settled is not fetched for.
        #expect(used(cache.decide(need: "new", arrived: early + 30, at: start + 200)) == ["first-key"])
    }

    @Test func othersJoinTheFetchUnderWay() throws {
        var cache = try filled()
        #expect(isFetch(decide(cache, "new", after: 40)))
        begin(&cache, at: start + 40)
        #expect(isFetch(decide(cache, "other", after: 41)))
        begin(&cache, at: start + 41, isRefused: true)
        #expect(used(decide(cache, "first-key", after: 4000)) == ["first-key"])
    }

    @Test func theLastGoodSetServesWhileAppleIsDown() throws {
        var cache = try filled()
        var now = 4000.0
        for _ in 0..<50 {
            #expect(refreshed(decide(cache, "first-key", after: now)) == ["first-key"])
            begin(&cache, at: start + now)
            cache.finish(nil)
            #expect(used(decide(cache, "first-key", after: now + 6)) == ["first-key"])
            now += 40
        }
    }

    @Test func aClockSetBackDoesNotStopFetching() throws {
        var cache = try filled()
        let moment = start - 86400
        // Nor does a set that seems to be of the future show that a key is not Apple's.
        #expect(isFetch(cache.decide(need: "new", arrived: moment, at: moment)))
        begin(&cache, at: moment)
    }
}

@Suite struct AppleKeySetTests {
    @Test func takesWhatIsUsableAndLeavesTheRest() throws {
        let good = try Signer.first.jwk
        let others = [
            #"{"kty":"EC","kid":"ec","crv":"P-256"}"#, #"{"kty":"RSA","kid":"short","n":"AQAB","e":"AQAB"}"#,
            try Signer.second.jwk.replacing("RS256", with: "RS512"),
            try Signer.second.jwk.replacing("sig", with: "enc"),
            "5",
        ]
        let set = AppleKeySet(jwks: Array(#"{"keys":[\#(([good] + others).joined(separator: ","))]}"#.utf8))
        #expect(set?.keyIDs == ["first-key"])
    }

    @Test func refusesDocumentsThatAreNone() throws {
        let good = try Signer.first.jwk
        for text in ["", "{}", #"{"keys":{}}"#, #"{"keys":[]}"#, #"{"keys":[\#(good),\#(good)]}"#, "<html>"] {
            #expect(AppleKeySet(jwks: Array(text.utf8)) == nil)
        }
    }
}

@Suite(.timeLimit(.minutes(5))) struct SharedFlightTests {
    @Test func startedWorkIsJoinedAndNotStartedTwice() async throws {
        let flight = SharedFlight<Int>()
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        flight.start {
            for await _ in gate { break }
            return 7
        }
        flight.start { 8 }
        let joined = Task { try await flight.join { 9 } }
        try await eventually("one joins") { flight.waiterCount == 1 }
        open.yield()
        #expect(try await joined.value == 7)
    }

    @Test func oneWorkForAllAndCancellingOneHarmsNobody() async throws {
        let flight = SharedFlight<Int>()
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let work: @Sendable () async -> Int = {
            start.yield()
            for await _ in gate { break }
            return 7
        }
        let first = Task { try await flight.join(work) }
        var iterator = started.makeAsyncIterator()
        _ = await iterator.next()
        let second = Task { try await flight.join { 8 } }
        let third = Task { try await flight.join { 9 } }
        try await eventually("three wait") { flight.waiterCount == 3 }
        first.cancel()
        second.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        await #expect(throws: CancellationError.self) { try await second.value }
        open.yield()
        #expect(try await third.value == 7)
        #expect(try await flight.join { 10 } == 10)
    }
}
