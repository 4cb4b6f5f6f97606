import Foundation
import Testing

@testable import Sealing

@Suite struct SecretTests {
    struct Holder {
        let name = "holder"
        let secret = Secret("hidden-value")
    }

    @Test func noWayOfPrintingShowsTheValue() {
        let holder = Holder()
        var dumped = ""
        dump(holder, to: &dumped)
        let texts = [
            "\(holder.secret)", "\(holder)", String(describing: holder), String(reflecting: holder), dumped,
            String(reflecting: holder.secret), "\([holder.secret])", "\(Optional(holder.secret) as Any)",
        ]
        for text in texts { #expect(!text.contains("hidden-value")) }
        #expect(holder.secret.reveal() == "hidden-value")
    }

    @Test func keysShowNothingEither() throws {
        let key = SealingKey.random(id: try #require(KeyID("k")))
        let body = String(key.fileLine.reveal().dropFirst(2))
        let ring = try KeyRing([key])
        var dumped = ""
        dump(key, to: &dumped)
        dump(ring, to: &dumped)
        dump(HashKey(key), to: &dumped)
        for text in ["\(key)", "\(ring)", dumped] { #expect(!text.contains(body)) }
    }

    @Test(
        "Group access leaves a secret that another user mounts closed to others, but opens the user's own file to them",
        arguments: [
            (0o600, 7, false), (0o440, 7, true), (0o640, 7, true), (0o444, 7, true), (0o440, 0, false),
            (0o640, 0, false), (0o444, 0, true), (0o644, 0, true),
        ] as [(mode_t, uid_t, Bool)]
    )
    func whoElseCanRead(_ mode: mode_t, _ owner: uid_t, _ isOpen: Bool) {
        #expect(FileModes(0o100_000 | mode, of: owner).isOpen(to: 7) == isOpen)
    }

    @Test func readsAFileAndSaysWhoElseCan() throws {
        let path = NSTemporaryDirectory() + "/secret-file-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data("secret\n".utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        #expect(try SecretFile.read(path).text?.reveal() == "secret\n")
        #expect(try SecretFile.read(path).isReadableByOthers == false)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        #expect(try SecretFile.read(path).isReadableByOthers)
        #expect(FileModes(path: path)?.isPlain == true && FileModes(path: path)?.isWritableByAll == false)
        #expect(FileModes(path: "/dev/null")?.isPlain == false && FileModes(path: "/dev/null")?.isWritableByAll == true)
        let failure = #expect(throws: SecretFile.Failure.self) { try SecretFile.read(path, limit: 3) }
        #expect(failure?.reason == "longer than 3 bytes")
        try Data([0xFF]).write(to: URL(fileURLWithPath: path))
        let bytes = #expect(throws: SecretFile.Failure.self) { try SecretFile.readText(path) }
        #expect(bytes?.reason == "it is not UTF-8 text")
    }

    @Test(arguments: ["/nonexistent/file", "/"])
    func aFileThatCannotBeReadIsNamed(path: String) {
        let failure = #expect(throws: SecretFile.Failure.self) { try SecretFile.read(path) }
        #expect(failure?.path == path)
        #expect(failure?.reason.isEmpty == false)
    }
}

@Suite struct Base64Tests {
    @Test func agreesWithFoundation() {
        var generator = SystemRandomNumberGenerator()
        for count in 0..<200 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            let expected = Data(bytes).base64EncodedString()
            #expect(Base64.encode(bytes) == expected)
            #expect(Base64.decode(expected) == bytes)
            let urlSafe = expected.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
            #expect(Base64.encode(bytes, alphabet: .urlSafe) == urlSafe)
            #expect(Base64.decode(urlSafe, alphabet: .urlSafe) == bytes)
        }
    }

    @Test(arguments: ["A", "AA", "AAA", "AB==", "A===", "AA=A", "AA ==", "AAA=AAAA", "äAAA", "AA-_", "===="])
    func refusesOtherSpellings(text: String) {
        #expect(Base64.decode(text) == nil)
    }

    @Test(arguments: ["A", "AB", "AA==", "AA+/", "A A", "AAAAA"])
    func refusesOtherSpellingsOfTheURLAlphabet(text: String) {
        #expect(Base64.decode(text, alphabet: .urlSafe) == nil)
    }
}
