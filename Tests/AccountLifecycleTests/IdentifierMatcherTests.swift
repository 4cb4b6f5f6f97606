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
        "3F2504e0-4f89-41d3-9a0c-0305E82C3301",
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
        "a%22anna@x.de%22", "?u=%252Fr%253Fe%253Danna%2540x.de",
    ])
    func findsAnAddress(text: String) {
        #expect(kinds(text, [Identifier(email: "anna@x.de")]) == [.email])
    }

    @Test(arguments: [
        "joanna@x.de", "anna@x.dev", "anna@x.de.example", "anna@x.de-shop.com", "foo+anna@x.de", "jo.anna@x.de",
        "jo_anna@x.de", "jo-anna@x.de", "hanna@x.de", "éanna@x.de", "anna@y.de", #"c:\\nanna@x.de"#, "joanna%40x.de",
        "foo%2Banna%40x.de", "jo%2Eanna@x.de", "%C3%A9anna%40x.de", "foo%252Banna%2540x.de",
    ])
    func takesNobodyElsesLongerAddress(text: String) {
        #expect(kinds(text, [Identifier(email: "anna@x.de")]).isEmpty)
    }

    @Test(arguments: [
        "anna+tag@x.de", "?email=anna%2Btag%40x.de", "?email=anna%2btag%40x.de&b", "?e=anna+tag%40x.de",
        "?next=%2Fr%3Fe%3Danna%252Btag%2540x.de", #"{"e": "anna\u002Btag@x.de"}"#,
    ])
    func findsAnAddressWithWhatURLsAndJSONEscape(text: String) {
        #expect(kinds(text, [Identifier(email: "anna+tag@x.de")]) == [.email])
        #expect(kinds(text, [Identifier(email: "tag@x.de")]).isEmpty)
    }

    @Test(arguments: ["jörg@x.de", "?e=j%C3%B6rg%40x.de", #"{"e": "j\u00f6rg@x.de"}"#])
    func findsAnAddressBeyondASCII(text: String) {
        #expect(kinds(text, [Identifier(email: "jörg@x.de")]) == [.email])
    }

    @Test(arguments: ["?q=call%204915112345678", #"{"n": "\u00204915112345678"}"#, "tel%3A%2B4915112345678"])
    func findsANumberBehindAnEscape(text: String) {
        #expect(kinds(text, [Identifier(phone: "+49 151 12345678")]) == [.phone])
    }

    @Test(arguments: ["auth0|5f7c8ec7c33c6c004bbafe82", "?u=auth0%7C5f7c8ec7c33c6c004bbafe82&x"])
    func findsAProviderIDInAURL(text: String) {
        #expect(kinds(text, [Identifier(providerID: "auth0|5f7c8ec7c33c6c004bbafe82")]) == [.providerID])
    }

    @Test func findsAppleSubsAndTelephoneNumbersAsWholeWords() {
        let sub = Identifier(providerID: "001234.0123456789abcdef0123456789abcdef.0123")
        let phone = Identifier(phone: "+49 151 12345678")
        #expect(kinds("sub=001234.0123456789ABCDEF0123456789abcdef.0123;", [sub, phone]) == [.providerID])
        #expect(kinds("001234.0123456789abcdef0123456789abcdef.01234", [sub, phone]).isEmpty)
        #expect(kinds("9001234.0123456789abcdef0123456789abcdef.0123", [sub, phone]).isEmpty)
        #expect(kinds("call +4915112345678!", [sub, phone]) == [.phone])
        #expect(kinds("4915112345678", [sub, phone]) == [.phone])
        #expect(kinds("14915112345678 49151123456780", [sub, phone]).isEmpty)
    }

    @Test func refusesWhatCannotBeToldFromOtherText() {
        #expect(Identifier(email: "anna") == nil)
        #expect(Identifier(email: "@x.de") == nil)
        #expect(Identifier(phone: "12345") == nil)
        #expect(Identifier(providerID: "42") == nil)
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
