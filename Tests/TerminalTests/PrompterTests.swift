import Synchronization
import Terminal
import Testing

@Suite("Questions are asked only where somebody can answer")
struct PrompterTests {
    private func prompter(interactive: Bool = true, yes: Bool = false, answer: String? = nil) -> Prompter {
        Prompter(
            isInteractive: interactive,
            assumesYes: yes,
            messages: Messages(style: .plain, sink: MemorySink()),
            readAnswer: {
                #expect(interactive, "asked although there is no terminal")
                return answer
            }
        )
    }

    @Test func confirming() throws {
        try prompter(answer: "Yes ").confirm("Go?")
        try prompter(interactive: false, yes: true).confirm("Go?")
        #expect(throws: PromptRefusal(code: .declined, flag: "--yes")) { try prompter(answer: "").confirm("Go?") }
        #expect(throws: PromptRefusal(code: .declined, flag: "--yes")) { try prompter(answer: nil).confirm("Go?") }
        #expect(throws: PromptRefusal(code: .nobodyToAsk, flag: "--yes")) {
            try prompter(interactive: false).confirm("Go?")
        }
    }

    @Test("A message after the end of the input begins on a new line")
    func endOfInput() {
        let sink = MemorySink()
        let messages = Messages(style: .plain, sink: sink)
        let prompter = Prompter(isInteractive: true, assumesYes: false, messages: messages, readAnswer: { nil })
        #expect(throws: PromptRefusal.self) { try prompter.confirm("Go?") }
        #expect(sink.text == "Go? [y/N] \n")
        #expect(throws: PromptRefusal.self) { try prompter.typed("42", given: nil, question: "Erase?") }
        #expect(sink.text.hasSuffix("Type 42 to continue: \n"))
    }

    @Test("A refusal shows the question, before the option that would confirm it")
    func question() {
        let sink = MemorySink()
        let messages = Messages(style: .plain, sink: sink)
        let prompter = Prompter(isInteractive: false, assumesYes: false, messages: messages)
        #expect(throws: PromptRefusal.self) { try prompter.typed("42", given: "41", question: "Erase 42 (anna)?") }
        #expect(throws: PromptRefusal.self) { try prompter.confirm("Pause it?") }
        #expect(sink.text == "Erase 42 (anna)?\nPause it?\n")
    }

    @Test("An action that cannot be undone asks for the id, and --yes is not enough")
    func typing() throws {
        try prompter(answer: " 42 ").typed("42", given: nil, question: "Erase?")
        try prompter(interactive: false).typed("42", given: "42", question: "Erase?")
        #expect(throws: PromptRefusal(code: .mismatch, flag: "--confirm=42")) {
            try prompter(answer: "42").typed("42", given: "41", question: "Erase?")
        }
        #expect(throws: PromptRefusal(code: .mismatch, flag: "--confirm=42")) {
            try prompter(answer: "y").typed("42", given: nil, question: "Erase?")
        }
        #expect(throws: PromptRefusal(code: .nobodyToAsk, flag: "--confirm=42")) {
            try prompter(interactive: false, yes: true).typed("42", given: nil, question: "Erase?")
        }
    }
}

@Suite("Progress")
struct ProgressTests {
    @Test func line() {
        let line = ProgressLine(label: "Deleting", done: 50, total: 100, elapsed: .seconds(5))
        #expect(line.text(barColumns: 10) == "Deleting  [#####-----] 50/100  10/s  5 s left")
    }

    @Test("Short work leaves no trace in a log; long work leaves a line now and then")
    func plain() {
        let sink = MemorySink()
        let clock = TestClock()
        let reporter = ProgressReporter(
            "Work",
            total: nil,
            messages: Messages(style: .plain, sink: sink),
            elapsed: { clock.now }
        )
        reporter.update(1)
        #expect(sink.text == "")
        clock.now = .seconds(10)
        for done in 2...50 { reporter.update(done) }
        #expect(sink.text == "Work  2  0.2/s\n")
    }

    @Test("A message starts on a line of its own, and a copy of the messages knows of the open line")
    func openLine() {
        let sink = MemorySink()
        let messages = Messages(style: StreamStyle(isTerminal: true, width: 80, colour: false), sink: sink)
        let reporter = ProgressReporter("Work", total: nil, messages: messages, elapsed: { .seconds(1) })
        reporter.update(1)
        #expect(sink.text == "\r\u{1B}[KWork  1  1.0/s")
        var copy = messages
        copy.rewrite = { $0 + "!" }
        copy.failure("gone")
        copy.note("more")
        #expect(sink.text == "\r\u{1B}[KWork  1  1.0/s\nerror: gone!\nmore!\n")
        reporter.finish(2)
        #expect(sink.text.hasSuffix("more!\n\r\u{1B}[KWork  2  2.0/s\n"))
    }

    @Test("A dumb terminal gets lines, and no escapes")
    func dumb() {
        let sink = MemorySink()
        let style = StreamStyle.decide(isTerminal: true, columns: 80, environment: ["TERM": "dumb"], noColour: false)
        let clock = TestClock()
        let reporter = ProgressReporter(
            "Work",
            total: nil,
            messages: Messages(style: style, sink: sink),
            elapsed: { clock.now }
        )
        reporter.update(1)
        clock.now = .seconds(10)
        reporter.update(20)
        reporter.finish(20)
        #expect(sink.text == "Work  20  2.0/s\nWork  20  2.0/s\n")
    }

    @Test func suggestions() {
        #expect(NearestName.of("migrat", among: ["migrate", "user"]) == "migrate")
        #expect(NearestName.of("uesr", among: ["migrate", "user"]) == "user")
        #expect(NearestName.of("xyz", among: ["migrate", "user"]) == nil)
    }
}

private final class TestClock: Sendable {
    private let value = Mutex(Duration.zero)
    var now: Duration {
        get { value.withLock { $0 } }
        set { value.withLock { $0 = newValue } }
    }
}
