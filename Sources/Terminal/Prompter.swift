/// Asks the person at the terminal, and only there.
package struct Prompter: Sendable {
    private let isInteractive: Bool
    private let assumesYes: Bool
    private let messages: Messages
    private let readAnswer: @Sendable () -> String?

    /// - Parameters:
    ///   - isInteractive: whether standard input and standard error are terminals and `--no-input` was not given.
    ///   - assumesYes: whether `--yes` was given.
    ///   - messages: where questions go.
    ///   - readAnswer: reads one line, nil at the end of the input.
    package init(
        isInteractive: Bool,
        assumesYes: Bool,
        messages: Messages,
        readAnswer: @escaping @Sendable () -> String? = { readLine(strippingNewline: true) }
    ) {
        self.isInteractive = isInteractive
        self.assumesYes = assumesYes
        self.messages = messages
        self.readAnswer = readAnswer
    }

    /// Asks for a yes or no; anything but yes is no.
    ///
    /// - Throws: ``PromptRefusal`` when the answer is no, or nobody can be asked and `--yes` was not given.
    package func confirm(_ question: String) throws {
        if assumesYes { return }
        guard isInteractive else {
            messages.note(question)
            throw PromptRefusal(code: .nobodyToAsk, flag: "--yes")
        }
        messages.raw(SafeText.lines(question) + " [y/N] ")
        switch typedText()?.lowercased() {
        case "y", "yes": return
        default: throw PromptRefusal(code: .declined, flag: "--yes")
        }
    }

    /// Asks for an exact text to be typed before something that cannot be undone; `--yes` is not enough.
    ///
    /// - Parameters:
    ///   - expected: the text, usually the full id.
    ///   - given: the value of `--confirm`, if it was given.
    ///   - question: what is about to happen.
    /// - Throws: ``PromptRefusal`` when the text differs, or nobody can be asked and `--confirm` was not given.
    package func typed(_ expected: String, given: String?, question: String) throws {
        if let given {
            guard given == expected else {
                // What to give instead is told: nobody is to paste it without seeing of what it is.
                messages.note(question)
                throw PromptRefusal(code: .mismatch, flag: "--confirm=\(expected)")
            }
            return
        }
        guard isInteractive else {
            messages.note(question)
            throw PromptRefusal(code: .nobodyToAsk, flag: "--confirm=\(expected)")
        }
        messages.raw(SafeText.lines(question) + "\nType \(SafeText.line(expected)) to go on: ")
        guard let answer = typedText(), !answer.isEmpty else {
            throw PromptRefusal(code: .declined, flag: "--confirm=\(expected)")
        }
        guard answer == expected else { throw PromptRefusal(code: .mismatch, flag: "--confirm=\(expected)") }
    }

    /// What was typed; nil at the end of the input, which leaves the line of the question open.
    private func typedText() -> String? {
        guard let answer = readAnswer() else {
            messages.raw("\n")
            return nil
        }
        return answer.trimmingBlanks()
    }
}

/// A question that was not answered with yes.
package struct PromptRefusal: Error, Equatable, CustomStringConvertible {
    /// Why there was no yes.
    package enum Code: Sendable, Equatable {
        /// The person said no.
        case declined
        /// What was typed, or given with the flag, is not what was asked for.
        case mismatch
        /// There is no terminal, and the flag that answers was not given.
        case nobodyToAsk
    }

    let code: Code
    /// The flag that answers the question without a terminal.
    let flag: String

    package init(code: Code, flag: String) {
        self.code = code
        self.flag = flag
    }

    package var description: String {
        switch code {
        case .declined: "declined, nothing was changed"
        case .mismatch: "the confirmation does not match, nothing was changed: it must be \(SafeText.line(flag))"
        case .nobodyToAsk: "this needs a confirmation and there is no terminal to ask at: give \(SafeText.line(flag))"
        }
    }
}

extension String {
    fileprivate func trimmingBlanks() -> String {
        String(drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" || $0 == "\r" }.reversed())
    }
}
