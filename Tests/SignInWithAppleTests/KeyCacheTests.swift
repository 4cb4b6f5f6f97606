import Foundation
import Testing

@testable import SignInWithApple

@Suite struct KeyCacheTests {
    let start = Date(timeIntervalSince1970: 1_750_000_000)

    private func isFetch(_ decision: KeyCache.Decision) -> Bool {
        if case .fetch = decision { true } else { false }
    }

    private func used(_ decision: KeyCache.Decision) -> [String]? {
        if case .use(let set) = decision { set?.keyIDs } else { nil }
    }

    private func filled() throws -> KeyCache {
        var cache = KeyCache()
        _ = cache.decide(need: nil, at: start)
        cache.finish(try Signer.keySet(.first), at: start)
        return cache
    }

    @Test func aKnownKeyNeedsNoFetchForAnHour() throws {
        var cache = try filled()
        #expect(used(cache.decide(need: "first-key", at: start + 3599)) == ["first-key"])
        #expect(isFetch(cache.decide(need: "first-key", at: start + 3600)))
    }

    @Test func anUnknownKeyFetchesOnceInThirtySeconds() throws {
        var cache = try filled()
        #expect(used(cache.decide(need: "new", at: start + 29)) == ["first-key"])
        #expect(isFetch(cache.decide(need: "new", at: start + 30)))
        cache.finish(try Signer.keySet(.first), at: start + 31)
        for second in 31..<60 {
            #expect(used(cache.decide(need: "kid-\(second)", at: start + Double(second))) == ["first-key"])
        }
        #expect(isFetch(cache.decide(need: "new", at: start + 60)))
    }

    @Test func othersJoinTheFetchUnderWay() throws {
        var cache = try filled()
        #expect(isFetch(cache.decide(need: "new", at: start + 40)))
        #expect(isFetch(cache.decide(need: "other", at: start + 41)))
        #expect(used(cache.decide(need: "first-key", at: start + 41)) == ["first-key"])
    }

    @Test func theLastGoodSetServesWhileAppleIsDown() throws {
        var cache = try filled()
        var now = start + 4000
        for _ in 0..<50 {
            #expect(isFetch(cache.decide(need: "first-key", at: now)))
            cache.finish(nil, at: now + 5)
            #expect(used(cache.decide(need: "first-key", at: now + 6)) == ["first-key"])
            now += 40
        }
    }

    @Test func aClockSetBackDoesNotStopFetching() throws {
        var cache = try filled()
        #expect(isFetch(cache.decide(need: "new", at: start - 86400)))
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

@Suite struct SharedFlightTests {
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
        while flight.waiterCount < 3 { await Task.yield() }
        first.cancel()
        second.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        await #expect(throws: CancellationError.self) { try await second.value }
        open.yield()
        #expect(try await third.value == 7)
        #expect(try await flight.join { 10 } == 10)
    }
}
