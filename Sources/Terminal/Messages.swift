import Synchronization

/// What a command tells its user on standard error, apart from its data.
package struct Messages: Sendable {
    package let style: StreamStyle
    /// What becomes of a sentence before it is told, such as of the commands that it names.
    package var rewrite: @Sendable (String) -> String = { $0 }
    private let sink: any ByteSink
    private let line = OpenLine()

    package init(style: StreamStyle, sink: any ByteSink) {
        self.style = style
        self.sink = sink
    }

    /// A plain sentence.
    package func note(_ text: String) {
        write(SafeText.lines(rewrite(text)))
    }

    /// Something to look at that does not stop the command.
    package func warning(_ text: String) {
        write(Emphasis.caution.apply(to: "warning:", style: style) + " " + SafeText.lines(rewrite(text)))
    }

    /// Why the command failed, and what to do if that is known.
    package func failure(_ text: String, hint: String? = nil) {
        var message = Emphasis.bad.apply(to: "error:", style: style) + " " + SafeText.lines(rewrite(text))
        if let hint { message += "\n" + SafeText.lines(rewrite(hint)) }
        write(message)
    }

    /// How far the work is: on a terminal in the place of the last such line, elsewhere a line each.
    package func progress(_ text: String) {
        guard style.redraws else { return note(text) }
        redraw(SafeText.line(rewrite(text)))
    }

    /// Text without a line end, for questions and progress.
    func raw(_ text: String) {
        // Standard error is the last resort: when it is gone there is nobody left to tell.
        try? sink.write(text)
    }

    /// Draws a line of progress in the place of the last one, cut to the terminal's width; it stays open until a message
    /// or ``leaveLine()`` comes.
    func redraw(_ text: String) {
        let fitting = style.width.map { DisplayWidth.fit(text, columns: $0 - 1) } ?? text
        line.isOpen.withLock { isOpen in
            raw("\r\u{1B}[K" + fitting)
            isOpen = true
        }
    }

    /// Ends a line of progress; nothing where none is open.
    func leaveLine() {
        line.isOpen.withLock { end(&$0) }
    }

    /// Behind the line of progress, never on it: one that was drawn meanwhile would tear it apart.
    private func write(_ message: String) {
        line.isOpen.withLock { isOpen in
            end(&isOpen)
            raw(message + "\n")
        }
    }

    private func end(_ isOpen: inout Bool) {
        if isOpen { raw("\n") }
        isOpen = false
    }

    /// Whether the last line has no end yet; the same for all copies, which write to one stream.
    private final class OpenLine: Sendable {
        let isOpen = Mutex(false)
    }
}
