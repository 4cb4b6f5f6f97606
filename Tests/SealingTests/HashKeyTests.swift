import Sealing
import Testing

@Suite struct HashKeyTests {
    private func id(_ text: String) throws -> KeyID { try #require(KeyID(text)) }

    @Test func hashesAreStableAndApartByPurposeAndKey() throws {
        let key = SealingKey.random(id: try id("h1"))
        let hashes = HashKey(key)
        let hash = hashes.hash("user", purpose: "erased")
        #expect(hash.count == 32)
        #expect(try HashKey(fileText: key.fileLine).hash("user", purpose: "erased") == hash)
        #expect(hashes.hash("user", purpose: "subject") != hash)
        #expect(hashes.hash("User", purpose: "erased") != hash)
        #expect(HashKey(.random(id: try id("h1"))).hash("user", purpose: "erased") != hash)
    }

    @Test func partsAreHashedAsOneText() throws {
        let key = HashKey(.random(id: try id("h1")))
        var parts = key.hashing(purpose: "p")
        for part in ["one\n", "", "two\n"] { parts.add(part) }
        #expect(parts.bytes == key.hash("one\ntwo\n", purpose: "p"))
    }

    /// The expected value is HMAC-SHA256 of `p`, a zero byte and `v` under 32 zero bytes, from another implementation.
    @Test func agreesWithAnotherImplementation() throws {
        let zero = Secret("z:" + Base64.encode([UInt8](repeating: 0, count: 32)))
        let hash = try HashKey(fileText: zero).hash("v", purpose: "p")
        let hex = hash.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        #expect(hex == "83dfd65ea2aacd67d9361f2841f8a0763a31f6a8e94db7bfb44f89ffc591e682")
    }

    @Test func twoKeysAreNoHashKey() throws {
        let lines = try ["a", "b"].map { SealingKey.random(id: try id($0)).fileLine.reveal() }
        let problems = #expect(throws: KeyRingProblems.self) {
            try HashKey(fileText: Secret(lines.joined(separator: "\n")))
        }
        #expect(problems?.description == "2 keys; expected exactly one, which does not rotate")
    }

    @Test func aSealingKeyUsedForHashesIsNoticed() throws {
        let key = SealingKey.random(id: try id("k"))
        let ring = try KeyRing([key])
        #expect(HashKey(key).isIn(ring))
        #expect(!HashKey(.random(id: try id("k"))).isIn(ring))
    }
}
