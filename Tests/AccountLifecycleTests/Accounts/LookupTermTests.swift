import AccountLifecycle
import Foundation
import Testing

@Suite("Recognising search terms")
struct LookupTermTests {
    @Test(
        "A user id in any spelling",
        arguments: [
            "8d3c2a1e-5b7f-4c9d-8e21-0a9b8c7d6e5f", "8D3C2A1E-5B7F-4C9D-8E21-0A9B8C7D6E5F",
            "8d3c2a1e5b7f4c9d8e210a9b8c7d6e5f", " {8D3C2A1E-5B7F-4C9D-8E21-0A9B8C7D6E5F} ",
            "urn:uuid:8d3c2a1e-5b7f-4c9d-8e21-0a9b8c7d6e5f",
        ]
    )
    func userID(_ text: String) {
        #expect(LookupTerm(text)?.userID == UUID(uuidString: "8d3c2a1e-5b7f-4c9d-8e21-0a9b8c7d6e5f"))
    }

    @Test(
        "An email address in upper or lower case, with anything that mail programs put around it",
        arguments: ["anna@example.com", "ANNA@Example.COM", "mailto:anna@example.com", "Anna <Anna@example.com>"]
    )
    func email(_ text: String) {
        let term = LookupTerm(text)
        #expect(term?.email == "anna@example.com")
        #expect(term?.username == nil)
    }

    @Test(
        "A phone number in any spelling",
        arguments: [
            "+49 151 1234567", "0049 (151) 123-45-67", "491511234567", "+49.151.1234567", "+49 (0)151 1234567",
            "0049(0) 151 1234567", "\u{202A}+49 151 1234567\u{202C}", "+49\u{2011}151\u{2011}1234567",
            "\u{2068}+49\u{202F}151\u{2013}1234567\u{2069}",
        ]
    )
    func phone(_ text: String) {
        #expect(LookupTerm(text)?.phone == "491511234567")
    }

    @Test("A trunk zero in brackets is kept in Italian numbers and in numbers without a country code")
    func trunkZero() {
        #expect(LookupTerm("+39 (0)6 1234567")?.phone == "39061234567")
        #expect(LookupTerm("(0)151 1234567")?.phone == "01511234567")
    }

    @Test("A term is read as every kind that it may be, unless its kind is given")
    func several() {
        let digits = LookupTerm("1234567")
        #expect(digits?.phone == "1234567")
        #expect(digits?.receipt == 1_234_567)
        #expect(digits?.username == "1234567")
        let receipt = LookupTerm("1234567", as: .receipt)
        #expect(receipt?.phone == nil)
        #expect(receipt?.receipt == 1_234_567)
        #expect(LookupTerm("anna", as: .email) == nil)
        #expect(LookupTerm("anna", as: .userID) == nil)
        #expect(LookupTerm("#42")?.receipt == 42)
    }

    @Test("The prefix of an international phone number is not read as an email address, unless that kind is given")
    func startOfANumber() {
        #expect(LookupTerm("+4915", compared: .prefix)?.email == nil)
        #expect(LookupTerm("+4915", compared: .prefix)?.phone == "4915")
        #expect(LookupTerm("+4915", as: .email, compared: .prefix)?.email == "+4915")
        #expect(LookupTerm("+4", compared: .prefix)?.email == "+4")
        #expect(LookupTerm("4915", compared: .prefix)?.email == "4915")
    }

    @Test func appleSub() {
        let sub = "001234.0123456789abcdef0123456789abcdef.0123"
        #expect(LookupTerm(sub)?.providerID == sub)
        #expect(LookupTerm.isAppleSub(sub))
        #expect(!LookupTerm.isAppleSub("001234.0123.0123"))
    }

    @Test("An empty term, a blank term and a term with a zero byte are rejected", arguments: ["", "  ", "a\u{0}b"])
    func nothing(_ text: String) {
        #expect(LookupTerm(text) == nil)
    }
}
