import Synchronization

/// Writes a command's messages to standard error, separate from its data.
package struct Messages: Sendable {
    package let style: StreamStyle
    /// Rewrites a message before it is shown, for example the commands that it names.
    package var rewrite: @Sendable (String) -> String = { $0 }
    private let sink: any ByteSink
    private let line = OpenLine()

    package init(style: StreamStyle, sink: any ByteSink) {
        self.style = style
        self.sink = sink
    }

    /// Writes a plain sentence.
    package func note(_ text: String) {
        write(SafeText.lines(rewrite(text)))
    }

    /// Writes a warning, which does not stop the command.
    package func warning(_ text: String) {
        write(Emphasis.caution.apply(to: "warning:", style: style) + " " + SafeText.lines(rewrite(text)))
    }

    /// Writes why the command failed, and how to fix it if that is known.
    package func failure(_ text: String, hint: String? = nil) {
        var message = Emphasis.bad.apply(to: "error:", style: style) + " " + SafeText.lines(rewrite(text))
        if let hint { message += "\n" + SafeText.lines(rewrite(hint)) }
        write(message)
    }

    /// Shows progress: on a terminal by redrawing one line, elsewhere as separate lines.
    package func progress(_ text: String) {
        guard style.redraws else { return note(text) }
        redraw(SafeText.line(rewrite(text)))
    }

    /// Writes text without a line end, for questions and progress.
    func raw(_ text: String) {
        // Standard error is the last resort: if it is closed, the error cannot be reported anywhere.
        try? sink.write(text)
    }

    /// Redraws the progress line, cut to the terminal's width; it stays open until a message or ``leaveLine()`` ends
    /// it.
    func redraw(_ text: String) {
        let fitting = style.width.map { DisplayWidth.fit(text, columns: $0 - 1) } ?? text
        line.isOpen.withLock { isOpen in
            raw("\r\u{1B}[K" + fitting)
            isOpen = true
        }
    }

    /// Ends the progress line, if one is open.
    func leaveLine() {
        line.isOpen.withLock { end(&$0) }
    }

    /// Ends the progress line before writing, under the same lock, so that a concurrent redraw cannot interleave with
    /// the message.
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

    /// Whether the last line is still open; shared by all copies, which write to the same stream.
    private final class OpenLine: Sendable {
        let isOpen = Mutex(false)
    }
}
