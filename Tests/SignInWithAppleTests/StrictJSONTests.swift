import Foundation
import Testing

@testable import SignInWithApple

@Suite struct StrictJSONTests {
    private func parse(_ text: String, depth: Int = 8) throws -> StrictJSON {
        try StrictJSON(parsing: Array(text.utf8), maximumDepth: depth)
    }

    @Test func readsEveryKindOfValue() throws {
        let text = #" {"a":[1,-2.5e3,0],"b":"x\"\\\/\b\f\n\r\té\ud83d\ude00ü","c":null,"d":true,"e":false,"f":{}} "#
        #expect(
            try parse(text)
                == .object([
                    "a": .array([.number(1), .number(-2500), .number(0)]),
                    "b": .string("x\"\\/\u{8}\u{c}\n\r\té😀ü"),
                    "c": .null, "d": .bool(true), "e": .bool(false), "f": .object([:]),
                ])
        )
    }

    @Test(arguments: [
        "", " ", "{", "}", "[1,]", "[1 2]", "{\"a\":1,}", "{a:1}", "{\"a\"}", "01", "-", "1.", ".5", "1e", "+1", "nul",
        "truefalse", "\"", "\"\\x\"", "\"\\u12\"", "\"a\nb\"", "1 2", "NaN", "Infinity", "1e999", "'a'", "[1]//",
        "\u{FEFF}{}",
    ])
    func refusesWhatIsNotJSON(text: String) {
        #expect(throws: StrictJSON.Problem.malformed) { try parse(text) }
    }

    @Test(arguments: [#""\ud800""#, #""\udc00""#, #""\ud800\u0041""#, #""\ud800x""#])
    func refusesHalfCharacters(text: String) {
        #expect(throws: StrictJSON.Problem.invalidText) { try parse(text) }
    }

    @Test func refusesInvalidUTF8() {
        for bytes: [UInt8] in [
            [0x22, 0xFF, 0x22], [0x22, 0xC0, 0xAF, 0x22], [0x22, 0x5C, 0x6E, 0xED, 0xA0, 0x80, 0x22],
        ] {
            #expect(throws: StrictJSON.Problem.invalidText) { try StrictJSON(parsing: bytes) }
        }
    }

    @Test(arguments: [#"{"a":1,"a":1}"#, #"{"x":{"a":1,"\u0061":2}}"#])
    func refusesDuplicates(text: String) {
        #expect(throws: StrictJSON.Problem.duplicateMember) { try parse(text) }
    }

    @Test func refusesDepth() throws {
        #expect(throws: StrictJSON.Problem.tooDeep) { try parse(String(repeating: "[", count: 100_000)) }
        #expect(throws: StrictJSON.Problem.tooDeep) { try parse(#"{"a":[{}]}"#, depth: 2) }
        #expect(try parse(#"{"a":[]}"#, depth: 2) == .object(["a": .array([])]))
    }

    @Test func booleansAndNumbersInStringsAreRead() throws {
        #expect(try parse(#""true""#).truth == true)
        #expect(try parse(#""TRUE""#).truth == nil)
        #expect(try parse(#""123""#).numeric == 123)
        #expect(try parse(#""-1""#).numeric == nil)
        #expect(try parse(#""""#).numeric == nil)
    }
}
