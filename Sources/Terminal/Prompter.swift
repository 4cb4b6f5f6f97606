/// Asks questions, only of a person at the terminal.
package struct Prompter: Sendable {
    private let isInteractive: Bool
    private let assumesYes: Bool
    private let messages: Messages
    private let readAnswer: @Sendable () -> String?

    /// Creates a prompter.
    ///
    /// - Parameters:
    ///   - isInteractive: whether standard input and standard error are terminals and `--no-input` was not given.
    ///   - assumesYes: whether `--yes` was given.
    ///   - messages: where questions are shown.
    ///   - readAnswer: reads one line; nil at the end of the input.
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

    /// Asks for confirmation; any answer but yes counts as no.
    ///
    /// - Throws: ``PromptRefusal`` if the answer is no, or nobody can be asked and `--yes` was not given.
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

    /// Asks for an exact text before something irreversible; `--yes` does not suffice.
    ///
    /// - Parameters:
    ///   - expected: the text, usually the full id.
    ///   - given: the value of `--confirm`, if any.
    ///   - question: what is about to happen.
    /// - Throws: ``PromptRefusal`` if the text differs, or nobody can be asked and `--confirm` was not given.
    package func typed(_ expected: String, given: String?, question: String) throws {
        if let given {
            guard given == expected else {
                // Show the question as well, so that nobody pastes the suggested flag without seeing what it confirms.
                messages.note(question)
                throw PromptRefusal(code: .mismatch, flag: "--confirm=\(expected)")
            }
            return
        }
        guard isInteractive else {
            messages.note(question)
            throw PromptRefusal(code: .nobodyToAsk, flag: "--confirm=\(expected)")
        }
        messages.raw(SafeText.lines(question) + "\nType \(SafeText.line(expected)) to continue: ")
        guard let answer = typedText(), !answer.isEmpty else {
            throw PromptRefusal(code: .declined, flag: "--confirm=\(expected)")
        }
        guard answer == expected else { throw PromptRefusal(code: .mismatch, flag: "--confirm=\(expected)") }
    }

    /// The typed text; nil at the end of the input, after ending the open line of the question.
    private func typedText() -> String? {
        guard let answer = readAnswer() else {
            messages.raw("\n")
            return nil
        }
        return answer.trimmingBlanks()
    }
}

/// A question that was not confirmed.
package struct PromptRefusal: Error, Equatable, CustomStringConvertible {
    /// Why the question was not confirmed.
    package enum Code: Sendable, Equatable {
        /// The person said no.
        case declined
        /// The text typed, or given with the flag, does not match.
        case mismatch
        /// There is no terminal, and the flag with the answer was not given.
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
        case .nobodyToAsk:
            "this needs a confirmation, but there is no terminal to ask at: give "
                + "\(SafeText.line(flag))"
        }
    }
}

extension String {
    fileprivate func trimmingBlanks() -> String {
        String(drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" || $0 == "\r" }.reversed())
    }
}
