import Terminal
import Testing

@Suite("Colour and width follow the habits of other tools")
struct StreamStyleTests {
    private func decide(_ environment: [String: String], terminal: Bool = true, flag: Bool = false) -> StreamStyle {
        .decide(isTerminal: terminal, columns: 100, environment: environment, noColour: flag)
    }

    @Test func colour() {
        #expect(decide([:]).colour)
        #expect(!decide([:], flag: true).colour)
        #expect(!decide(["NO_COLOR": "1"]).colour)
        #expect(decide(["NO_COLOR": ""]).colour)
        #expect(!decide(["TERM": "dumb"]).colour)
        #expect(!decide([:], terminal: false).colour)
        #expect(decide(["CLICOLOR_FORCE": "1"], terminal: false).colour)
        #expect(!decide(["FORCE_COLOR": "1", "NO_COLOR": "1"], terminal: false).colour)
        #expect(!decide(["FORCE_COLOR": "0"], terminal: false).colour)
    }

    @Test func width() {
        #expect(decide([:]).width == 100)
        #expect(decide(["COLUMNS": "60"]).width == 60)
        #expect(decide(["COLUMNS": "nonsense"]).width == 100)
        #expect(decide(["COLUMNS": "60"], terminal: false).width == nil)
    }
}
