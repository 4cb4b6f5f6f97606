import Terminal
import Testing

@Suite("Text from outside is harmless on a terminal")
struct SafeTextTests {
    @Test(
        "Characters that a terminal would act on are spelled out",
        arguments: [
            ("plain", "plain"),
            ("\u{1B}[31mred", "\\u{1b}[31mred"),
            ("a\nb\tc\rd", "a\\nb\\tc\\rd"),
            ("\u{9B}2J", "\\u{9b}2J"),
            ("abc\u{202E}txt", "abc\\u{202e}txt"),
            ("zero\u{200B}width", "zero\\u{200b}width"),
            ("Zoë 李 🎉", "Zoë 李 🎉"),
            ("👩‍👧", "👩‍👧"),
            ("❤\u{FE0F}", "❤\u{FE0F}"),
            ("anna\u{3164}", "anna\\u{3164}"),
            ("anna\u{2800}", "anna\\u{2800}"),
            ("an\u{200D}na", "an\\u{200d}na"),
            ("anna\u{FE0F}", "anna\\u{fe0f}"),
            ("\u{200D}anna", "\\u{200d}anna"),
        ]
    )
    func spelledOut(_ text: String, _ expected: String) {
        #expect(SafeText.line(text) == expected)
    }

    @Test("Stacked marks do not paint over the neighbours")
    func stackedMarks() {
        let text = SafeText.line("a" + String(repeating: "\u{301}", count: 6))
        #expect(text.hasSuffix("\\u{301}\\u{301}"))
    }

    @Test("Columns are counted as a terminal shows them")
    func width() {
        #expect(DisplayWidth.of("abc") == 3)
        #expect(DisplayWidth.of("李小龙") == 6)
        #expect(DisplayWidth.of("e\u{301}") == 1)
        #expect(DisplayWidth.of("🎉") == 2)
        #expect(DisplayWidth.fit("李小龙", columns: 5) == "李小…")
        #expect(DisplayWidth.fit("abc", columns: 3) == "abc")
    }
}
