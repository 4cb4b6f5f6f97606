import Sealing
import Synchronization
import Testing

@Suite struct KeyRingTests {
    let context = SealingContext(purpose: "refresh-token", ids: ["user-1", "com.example.app"])
    let plain = Secret("the token")

    private func key(_ id: String) throws -> SealingKey { .random(id: try #require(KeyID(id))) }

    @Test func sealsWithTheNewestAndOpensWithAll() throws {
        let (old, new) = (try key("2026-01"), try key("2026-02"))
        let before = try KeyRing([old]).seal(plain, for: context)
        let ring = try KeyRing([old, new])
        #expect(ring.newestID == new.id)
        #expect(ring.seal(plain, for: context).keyID == new.id)
        #expect(try ring.openText(before.text, for: context).reveal() == "the token")
    }

    @Test func theTextNamesVersionAndKeyAndHidesTheValue() throws {
        let ring = try KeyRing([try key("k1")])
        let first = ring.seal(plain, for: context)
        #expect(first.text.hasPrefix("v1.k1."))
        #expect(first.text != ring.seal(plain, for: context).text)
        #expect(SealedText(first.text) == first)
    }

    @Test(arguments: [
        SealingContext(purpose: "refresh-token", ids: ["user-2", "com.example.app"]),
        SealingContext(purpose: "refresh-token", ids: ["com.example.app", "user-1"]),
        SealingContext(purpose: "refresh-token", ids: ["user-1"]),
        SealingContext(purpose: "refresh-token", ids: ["user-1com", ".example.app"]),
        SealingContext(purpose: "refresh-tokenuser-1", ids: ["", "com.example.app"]),
        SealingContext(purpose: "other", ids: ["user-1", "com.example.app"]),
    ])
    func anotherContextDoesNotOpen(other: SealingContext) throws {
        let key = try key("k1")
        let sealed = try KeyRing([key]).seal(plain, for: context)
        #expect(throws: SealingError(.doesNotOpen(key.id), purpose: other.purpose)) {
            try KeyRing([key]).open(sealed, for: other)
        }
    }

    @Test func anyChangedByteDoesNotOpen() throws {
        let ring = try KeyRing([try key("k1")])
        let sealed = ring.seal(plain, for: context)
        let body = try #require(Base64.decode(sealed.text.dropFirst("v1.k1.".count), alphabet: .urlSafe))
        for index in body.indices {
            var changed = body
            changed[index] ^= 1
            let text = "v1.k1." + Base64.encode(changed, alphabet: .urlSafe)
            #expect(throws: SealingError.self) { try ring.openText(text, for: context) }
        }
    }

    /// Neither a value that was cut short opens, nor one that names the same key by another name.
    @Test func theWholeTextIsBound() throws {
        let key = try key("k1")
        let ring = try KeyRing([key])
        let text = ring.seal(plain, for: context).text
        for count in 0..<text.utf8.count {
            #expect(throws: SealingError.self) { try ring.openText(String(text.prefix(count)), for: context) }
        }
        let renamed = try KeyRing(fileText: Secret("k2:\(key.fileLine.reveal().dropFirst("k1:".count))"))
        #expect(throws: SealingError.self) {
            try renamed.openText("v1.k2.\(text.dropFirst("v1.k1.".count))", for: context)
        }
    }

    @Test func aMissingKeyIsNamed() throws {
        let sealed = try KeyRing([try key("lost-key")]).seal(plain, for: context)
        let ring = try KeyRing([try key("k2")])
        let error = #expect(throws: SealingError.self) { try ring.open(sealed, for: context) }
        #expect(error?.description.contains("\"lost-key\" is missing") == true)
    }

    @Test func aKeyThatComesLaterOpensAndDoesNotSeal() throws {
        let (old, new) = (try key("old"), try key("new"))
        let file = Mutex<KeyRing?>(nil)
        let ring = try KeyRing([old]).following(every: .zero) { file.withLock(\.self) }
        let sealed = try KeyRing([new]).seal(plain, for: context)
        #expect(throws: SealingError(.missingKey(new.id), purpose: context.purpose)) {
            try ring.open(sealed, for: context)
        }
        // First the file holds a wrong key under that name, then the right one.
        let wrong = try KeyRing([old, try key("new")])
        file.withLock { $0 = wrong }
        #expect(throws: SealingError(.doesNotOpen(new.id), purpose: context.purpose)) {
            try ring.open(sealed, for: context)
        }
        let right = try KeyRing([old, new])
        file.withLock { $0 = right }
        #expect(try ring.openText(sealed.text, for: context).reveal() == "the token")
        // A key that was found stays available, whatever happens to the file.
        file.withLock { $0 = nil }
        #expect(try ring.openText(sealed.text, for: context).reveal() == "the token")
        #expect(ring.seal(plain, for: context).keyID == old.id)
    }

    @Test func theFileIsLookedAtOnceInAWhile() throws {
        let looks = Mutex(0)
        let ring = try KeyRing([try key("old")]).following(every: .seconds(3600)) {
            looks.withLock { $0 += 1 }
            return nil
        }
        let sealed = try KeyRing([try key("new")]).seal(plain, for: context)
        for _ in 0..<100 { #expect(throws: SealingError.self) { try ring.open(sealed, for: context) } }
        #expect(looks.withLock(\.self) == 1)
    }

    @Test(arguments: ["", "v1.k1", "v2.k1.AAAA", "v1..AAAA", "v1.k1.!!!!", "v1.k1.AAAA", "plain text"])
    func whatIsNotSealedIsSaidToBe(text: String) throws {
        let ring = try KeyRing([try key("k1")])
        #expect(throws: SealingError(.malformed, purpose: "refresh-token")) { try ring.openText(text, for: context) }
    }

    @Test func resealingMovesToTheNewestKeyOnce() throws {
        let (old, new) = (try key("old"), try key("new"))
        let before = try KeyRing([old]).seal(plain, for: context)
        let ring = try KeyRing([old, new])
        let after = try #require(try ring.reseal(before, for: context))
        #expect(after.keyID == new.id)
        #expect(try KeyRing([new]).openText(after.text, for: context).reveal() == "the token")
        #expect(try ring.reseal(after, for: context) == nil)
    }

    @Test func canariesTellKeysOfOneNameApart() throws {
        let key = try key("k1")
        let ring = try KeyRing([key])
        let canary = try #require(ring.canary(of: key.id)).text
        #expect(ring.check(canary: canary) == .same)
        #expect(try KeyRing([try self.key("k1")]).check(canary: canary) == .different(key.id))
        #expect(try KeyRing([try self.key("k2")]).check(canary: canary) == .missing(key.id))
        #expect(ring.check(canary: "nonsense") == .malformed)
        // A value sealed for another purpose is not a canary, whatever its text.
        let imposter = ring.seal(Secret("this key is the one that sealed the rest"), for: context)
        #expect(ring.check(canary: imposter.text) == .different(key.id))
    }

    @Test func readsAFileWithCommentsAndForeignLineEnds() throws {
        let (first, second) = (try key("a"), try key("b"))
        let text = Secret("# keys\r\n\r\n \(first.fileLine.reveal())\r\n\(second.fileLine.reveal())\n\n")
        let ring = try KeyRing(fileText: text)
        #expect(ring.ids == [first.id, second.id])
        #expect(ring.newestID == second.id)
        #expect(try KeyRing(fileText: Secret("\u{FEFF}" + first.fileLine.reveal())).ids == [first.id])
        let sealed = try KeyRing([second]).seal(plain, for: context)
        #expect(try ring.openText(sealed.text, for: context).reveal() == "the token")
    }

    @Test func tellsEveryWrongLineAndNoKey() throws {
        let good = try key("good")
        let line = good.fileLine.reveal()
        let text = """
            \(line)
            \(line)
            other:\(line.dropFirst(5))
            b a d:AAAA
            short:AAAA
            text:not base64
            nothing
            """
        let error = #expect(throws: KeyRingProblems.self) { try KeyRing(fileText: Secret(text)) }
        let problems = try #require(error)
        #expect(Set(problems.problems.map(\.line)) == [2, 3, 4, 5, 6, 7])
        #expect(!problems.description.contains(String(line.dropFirst(5))))
        #expect(problems.description.contains("line 5: key \"short\" has 3 bytes, expected 32"))
    }

    @Test(arguments: ["", "\n", "# only a comment"])
    func anEmptyFileIsAProblem(text: String) {
        #expect(throws: KeyRingProblems.self) { try KeyRing(fileText: Secret(text)) }
    }
}
