import AccountLifecycle
import Foundation
import Testing

@Suite struct IdentifierMatcherTests {
    static let user = UUID(
        uuid: (0x3F, 0x25, 0x04, 0xE0, 0x4F, 0x89, 0x41, 0xD3, 0x9A, 0x0C, 0x03, 0x05, 0xE8, 0x2C, 0x33, 0x01)
    )

    private func kinds(_ text: String, _ identifiers: [Identifier?]) -> [Identifier.Kind] {
        let matcher = IdentifierMatcher(identifiers.compactMap(\.self))
        return matcher.matches(in: text).map { matcher.identifiers[$0.identifier].kind }
    }

    @Test(arguments: [
        "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
        #"{"a": {"by": "3f2504e0-4f89-41d3-9a0c-0305e82c3301"}}"#,
        "users/3f2504e0-4f89-41d3-9a0c-0305e82c3301/me.jpeg",
        "seen by user3f2504e0-4f89-41d3-9a0c-0305e82c3301, twice",
        "3F2504E04F8941D39A0C0305E82C3301",
        "3F2504e0-4f89-41d3-9a0c-0305E82C3301", "people.3f2504e0_4f89_41d3_9a0c_0305e82c3301.letters",
    ])
    func findsAUserIDInEveryForm(text: String) {
        #expect(kinds(text, [Identifier(userID: Self.user)]) == [.userID])
    }

    @Test(arguments: [
        "3f2504e0-4f89-41d3-9a0c-0305e82c3302", "3f2504e0-4f89-41d3-9a0c", "3f2504e0", "",
        "3f2504e0-4f8941d39a0c-0305e82c3301",
    ])
    func takesNoOtherIDForIt(text: String) {
        #expect(kinds(text, [Identifier(userID: Self.user)]).isEmpty)
    }

    @Test(arguments: [
        "anna@x.de", "Anna@X.de", "to anna@x.de.", "<anna@x.de>", "mailto:anna@x.de?subject=x", "\"anna@x.de\"",
        "?e=anna%40x.de&b", "anna@x.de,joanna@x.de", #"{"note": "line\nanna@x.de"}"#, #"{"n": "\u0009anna@x.de"}"#,
        "anna@x.de-", "(anna@x.de)", "a\tanna@x.de", "q=from%3Aanna%40x.de", "?next=%2Freset%3Femail%3Danna%2540x.de",
        "a%22anna@x.de%22", "?u=%252Fr%253Fe%253Danna%2540x.de", "text=invite+anna%40x.de&b",
        // Quotes, dashes, spaces and other signs beyond ASCII, and their spelling in URLs and JSON.
        "“anna@x.de”", "„anna@x.de“", "«anna@x.de»", "Mail:\u{A0}anna@x.de", "—anna@x.de", "anna@x.de…", "anna@x.de’s",
        "😀anna@x.de", "❤\u{FE0F}anna@x.de", "?q=%E2%80%9Canna%40x.de%E2%80%9D", #"{"n": "\u201canna@x.de"}"#,
        #"{"n": "\ud83d\ude00anna@x.de"}"#,
        #"{"n": "\u00bbanna@x.de"}"#, #"{"n": "\u2764\ufe0fanna@x.de"}"#, #"{"n": "\ud83d\ude0banna@x.de"}"#,
        // JSON within JSON, or within an array.
        #"{"body": "{\"note\": \"line\\nanna@x.de\"}"}"#, #"{"{\"n\": \"\\u003canna@x.de>\"}"}"#,
        // Scripts that are written without spaces.
        "邮箱：anna@x.de", "メールはanna@x.deです", "サーバーanna@x.de", "कृपयाanna@x.de", "%E9%82%AEanna%40x.de",
        // Signs that mark up text, separate lists or occur in the names of files.
        "**anna@x.de**", "_anna@x.de_", "__anna@x.de__", "~anna@x.de~", "bob@y.de|anna@x.de", "#anna@x.de",
        "exports/anna@x.de.pdf", "anna@x.de.json.gz", "anna@x.de-2026-01-01.log", "anna@x.de.1",
        "exports/anna@x.de-invoice.pdf", "anna@x.de.letter-2.docx",
        // A blank was forgotten.
        "Ask anna@x.de.Thanks.", "ASK ANNA@X.DE.Thanks.",
    ])
    func findsAnAddress(text: String) {
        #expect(kinds(text, [Identifier(email: "anna@x.de")]) == [.email])
    }

    @Test(arguments: [
        "joanna@x.de", "anna@x.dev", "anna@x.de.example", "anna@x.de-shop.com", "foo+anna@x.de", "jo.anna@x.de",
        "jo_anna@x.de", "jo-anna@x.de", "hanna@x.de", "éanna@x.de", "anna@y.de", "joanna%40x.de", "foo%2Banna%40x.de",
        "jo%2Eanna@x.de", "%C3%A9anna%40x.de", "foo%252Banna%2540x.de", #"{"{\"n\": \"e\\u0301anna@x.de\"}"}"#,
        #"{"n": "\u00e9anna@x.de"}"#, "e\u{301}anna@x.de", #"{"n": "e\u0301anna@x.de"}"#, "жanna@x.de", "７anna@x.de",
        "anna@x.de\u{301}", "anna@x.dé", "jo_anna@x.de_", "_anna@x.de", "anna@x.de.evil.com", "anna@x.de.pdf.com",
        "anna@x.de-2.com", "anna@x.de-log", "anna@x.de.中国", "anna@x.de-ä.com", "anna@x.de.1ä.com",
        "anna@x.de.example.", "ANNA@X.DE.EXAMPLE", "Anna@X.De.Example", "anna@x.de-shop.com.",
    ])
    func takesNobodyElsesLongerAddress(text: String) {
        #expect(kinds(text, [Identifier(email: "anna@x.de")]).isEmpty)
    }

    @Test(arguments: [
        "anna+tag@x.de", "?email=anna%2Btag@x.de", "?email=anna%2Btag%40x.de", "?email=anna%2btag%40x.de&b",
        "?next=%2Fr%3Fe%3Danna%252Btag%2540x.de", "?next=%2Fr%3Fe%3Danna%252Btag%40x.de",
        #"{"e": "anna\u002Btag@x.de"}"#,
        #"{"e": "anna+tag\u0040x.de"}"#, #"{"body": "{\"e\": \"anna+tag\\u0040x.de\"}"}"#,
        #"{"body": "{\"e\": \"anna\\u002btag@x.de\"}"}"#,
    ])
    func findsAnAddressWithWhatURLsAndJSONEscape(text: String) {
        #expect(kinds(text, [Identifier(email: "anna+tag@x.de")]) == [.email])
        #expect(kinds(text, [Identifier(email: "tag@x.de")]).isEmpty)
    }

    @Test(arguments: [
        "o'brien@x.de", "<b>O&#39;Brien@x.de</b>", "o&#x27;brien@x.de", "o&#039;brien@x.de", "o&apos;brien@x.de",
        "values ('o''brien@x.de')", #"{"e": "o\u0027brien@x.de"}"#, "?e=o%27brien%40x.de", "?e=o'brien%40x.de",
        #"print('o\'brien@x.de')"#, #"{"code": "print('o\\'brien@x.de')"}"#,
    ])
    func findsAnAddressWithAnApostrophe(text: String) {
        #expect(kinds(text, [Identifier(email: "o'brien@x.de")]) == [.email])
    }

    @Test(arguments: [#"ask anna\_berg@x.de."#, #"{"body": "ask anna\\_berg@x.de"}"#])
    func findsAnAddressInMarkdown(text: String) {
        #expect(kinds(text, [Identifier(email: "anna_berg@x.de")]) == [.email])
        #expect(kinds(text, [Identifier(email: "berg@x.de")]).isEmpty)
    }

    /// Sign-up takes no such address, but an import may have brought it.
    @Test(arguments: [
        #"to "Anna B\C"@x.de!"#, #"{"e": "\"anna b\\c\"@x.de"}"#,
        #"{"body": "{\"e\": \"\\\"anna b\\\\c\\\"@x.de\"}"}"#, #"("""anna b\\c""@x.de",1)"#,
        "?e=%22anna%20b%5Cc%22%40x.de",
    ])
    func findsAnAddressWithBlanksQuotesAndBackslashes(text: String) {
        #expect(kinds(text, [Identifier(email: #" "anna b\c"@x.de "#)]) == [.email])
    }

    /// By hand, somebody may escape the at sign alone; in a form, the plus sign is a blank.
    @Test func findsWhatAPlusSignMayMean() {
        for address in ["anna+tag@x.de", "tag@x.de"] {
            #expect(kinds("?e=anna+tag%40x.de", [Identifier(email: address)]) == [.email])
        }
        #expect(kinds("?e=anna+j%C3%B6rg@x.de", [Identifier(email: "jörg@x.de")]).isEmpty)
    }

    @Test(arguments: [
        "jörg@x.de", "?e=j%C3%B6rg@x.de", "?e=j%C3%B6rg%40x.de", #"{"e": "j\u00f6rg@x.de"}"#, "JÖRG@X.DE",
        "?e=J%C3%96RG%40X.DE",
        #"{"e": "J\u00D6RG@X.DE"}"#, #"{"body": "{\"e\": \"j\\u00f6rg@x.de\"}"}"#,
    ])
    func findsAnAddressBeyondASCII(text: String) {
        #expect(kinds(text, [Identifier(email: "Jörg@x.de")]) == [.email])
    }

    @Test func capitalsAreOnesOwn() {
        #expect(kinds("\u{130}nan@x.de i\u{307}nan@x.de", [Identifier(email: "\u{130}nan@x.de")]) == [.email, .email])
        #expect(kinds("Öner.Özil@x.de", [Identifier(email: "öner.özil@x.de")]) == [.email])
        #expect(kinds("STRASSE@x.de IRMAK@x.de", ["straße@x.de", "ırmak@x.de"].map(Identifier.init(email:))).isEmpty)
    }

    /// A row that was cut may begin and end in the middle of a character.
    @Test func theHalfOfACharacterIsNoLetter() {
        let matcher = IdentifierMatcher([Identifier(email: "anna@x.de")].compactMap(\.self))
        let text = [0x9C] + Array("anna@x.de".utf8) + [0xE2]
        var found = 0
        text.withUnsafeBytes { bytes in matcher.forEachMatch(in: bytes) { _ in found += 1 } }
        #expect(found == 1)
    }

    @Test(arguments: ["?q=call%204915112345678", #"{"n": "\u00204915112345678"}"#, "tel%3A%2B4915112345678"])
    func findsANumberBehindAnEscape(text: String) {
        #expect(kinds(text, [Identifier(phone: "+49 151 12345678")]) == [.phone])
    }

    @Test(arguments: ["auth0|5f7c8ec7c33c6c004bbafe82", "?u=auth0%7C5f7c8ec7c33c6c004bbafe82&x"])
    func findsAProviderIDInAURL(text: String) {
        #expect(kinds(text, [Identifier(providerID: "auth0|5f7c8ec7c33c6c004bbafe82")]) == [.providerID])
    }

    @Test(arguments: [#"{"sub": "CONTOSO\\anna.berg"}"#, #"{"b": "{\"sub\": \"CONTOSO\\\\anna.berg\"}"}"#])
    func findsAProviderIDWithABackslash(text: String) {
        #expect(kinds(text, [Identifier(providerID: #"CONTOSO\Anna.Berg"#)]) == [.providerID])
    }

    @Test func findsAppleSubsAndTelephoneNumbersAsWholeWords() {
        let sub = Identifier(providerID: "001234.0123456789abcdef0123456789abcdef.0123")
        let phone = Identifier(phone: "+49 151 12345678")
        #expect(kinds("sub=001234.0123456789ABCDEF0123456789abcdef.0123;", [sub, phone]) == [.providerID])
        #expect(kinds("“001234.0123456789abcdef0123456789abcdef.0123”", [sub, phone]) == [.providerID])
        #expect(kinds("编号：001234.0123456789abcdef0123456789abcdef.0123。", [sub, phone]) == [.providerID])
        #expect(kinds("001234.0123456789abcdef0123456789abcdef.01234", [sub, phone]).isEmpty)
        #expect(kinds("9001234.0123456789abcdef0123456789abcdef.0123", [sub, phone]).isEmpty)
        #expect(kinds("call +4915112345678!", [sub, phone]) == [.phone])
        #expect(kinds("4915112345678", [sub, phone]) == [.phone])
        #expect(kinds("14915112345678 49151123456780", [sub, phone]).isEmpty)
        #expect(kinds("call 004915112345678!", [sub, phone]) == [.phone])
        #expect(kinds("+01149151123456780 tel:0114915112345678", [sub, phone]) == [.phone])
        #expect(kinds("1004915112345678 04915112345678", [sub, phone]).isEmpty)
    }

    @Test func refusesWhatCannotBeToldFromOtherText() {
        #expect(Identifier(email: "anna") == nil)
        #expect(Identifier(email: "anna@\u{301}x.de")?.kind == .email)
        #expect(Identifier(email: "@x.de") == nil)
        let short = [Identifier(phone: "1234567"), Identifier(providerID: "583231")]
        #expect(short.map { $0?.isSearchable } == [false, false])
        #expect(kinds("1234567, 583231", short).isEmpty)
    }

    @Test func findsTheSameAsASimpleSearchInRandomText() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<300 {
            let users = (0..<5).map { _ in UUID() }
            let matcher = IdentifierMatcher(users.map(Identifier.init(userID:)))
            var text = ""
            var expected: [Int] = []
            for _ in 0..<20 {
                switch Int.random(in: 0..<4, using: &generator) {
                case 0:
                    let index = Int.random(in: 0..<5, using: &generator)
                    expected.append(index)
                    text += users[index].uuidString
                case 1:
                    let index = Int.random(in: 0..<5, using: &generator)
                    expected.append(index)
                    text += users[index].uuidString.lowercased().replacingOccurrences(of: "-", with: "")
                case 2: text += UUID().uuidString
                default: text += String(repeating: "f", count: Int.random(in: 0..<9, using: &generator))
                }
            }
            #expect(matcher.matches(in: text).map(\.identifier) == expected)
        }
    }
}
