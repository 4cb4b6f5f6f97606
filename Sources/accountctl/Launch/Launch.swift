import ArgumentParser
import EventThread
import Postgres
import Terminal

/// One run of the program: parse, run, report.
struct Launch {
    let arguments: [String]
    let environment: [String: String]
    /// The arguments as the parser reads them without doubt.
    let words: [String]

    init(arguments: [String], environment: [String: String] = ProcessVariables.all()) {
        self.arguments = arguments
        self.environment = environment
        words = CommandWords.normalised(arguments, root: Accountctl.self)
    }

    /// Answers what needs no command: the version alone, or help and nothing else behind a command's name; nil for all
    /// else.
    func answerPlainly() -> ExitStatus? {
        plainAnswer.map { answer($0) }
    }

    /// Runs the command; everything that ``answerPlainly()`` answers as well.
    ///
    /// - Parameter thread: What the caller runs on, and what a command stays on that needs no other.
    /// - Returns: What the process ends with.
    func run(on thread: EventThread) async -> ExitStatus {
        if let unknown = CommandWords.unknownField(words, root: Accountctl.self) { return report(unknown) }
        let command: any AccountctlCommand
        do {
            guard let parsed = try Self.command(words) else { return .ok }
            command = parsed
        } catch {
            return reportParsing(error, messages)
        }
        let cache = SettingsCache()
        var messages = messages
        messages.rewrite = FollowUp(command.global) { cache.isProduction }.completed
        do {
            let context = try makeContext(of: command, messages, cache, thread)
            try Self.loadLibrary()
            do {
                guard context.thread == nil else { return try await command.run(in: context) }
                return try await withTaskExecutorPreference(globalConcurrentExecutor) {
                    try await command.run(in: context)
                }
            } catch {
                throw await SchemaGap(context: context).explanation(of: error) ?? error
            }
        } catch {
            // A command that answers with help.
            if Accountctl.exitCode(for: error) == .success { return reportParsing(error, messages) }
            return report(error, messages)
        }
    }

    /// Most commands connect.
    private static func loadLibrary() throws {
        guard let failure = Connection.loadLibrary() else { return }
        throw CommandError(.failure, "libpq cannot be loaded: \(failure)", hint: "install libpq 5")
    }

    // MARK: - What is said

    /// Tells of an error, and what the process ends with for it.
    func report(_ error: any Error) -> ExitStatus { report(error, messages) }

    private func report(_ error: any Error, _ messages: Messages) -> ExitStatus {
        let report = ErrorReport(error)
        if !report.message.isEmpty { messages.failure(report.message, hint: report.hint) }
        return report.status
    }

    /// Prints what was asked of the program itself.
    func answer(_ text: String) -> ExitStatus {
        do {
            try DescriptorSink(descriptor: 1).write(text)
            return .ok
        } catch {
            return report(error)
        }
    }

    private var messages: Messages {
        Messages(style: style(.error, noColour: refusesColour), sink: DescriptorSink(descriptor: 2))
    }
}
