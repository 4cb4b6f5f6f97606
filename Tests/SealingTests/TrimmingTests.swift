import Sealing
import Testing

@Suite struct TrimmingTests {
    @Test(arguments: [
        ("", ""), (" ", ""), ("\t \r\n", ""), ("a", "a"), ("  a b\r\n", "a b"), ("\u{A0}a", "a"), ("é ", "é"),
    ])
    func takesOnlyTheEdges(text: String, expected: String) {
        let trimmed = text.trimming { $0.isWhitespace }
        #expect(trimmed == expected)
        let part = ("x" + text + "x").dropFirst().dropLast().trimming { $0.isWhitespace }
        #expect(part == expected)
    }
}
