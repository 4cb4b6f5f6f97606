import ArgumentParser
import EventThread
import Postgres
import Terminal

/// One run of the program: parse, run, report.
struct Launch {
    let arguments: [String]
    let environment: [String: String]
    /// The normalised arguments, which the parser reads unambiguously.
    let words: [String]

    init(arguments: [String], environment: [String: String] = ProcessVariables.all()) {
        self.arguments = arguments
        self.environment = environment
        words = CommandWords.normalised(arguments, root: Accountctl.self)
    }

    /// Answers a request that needs no command, the version alone or help right after a command's name; nil for all
    /// others.
    func answerPlainly() -> ExitStatus? {
        plainAnswer.map { answer($0) }
    }

    /// Runs the command; also answers every request that ``answerPlainly()`` answers.
    ///
    /// - Parameter thread: The caller's thread; a sequential command stays on it.
    /// - Returns: The exit status of the process.
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
            return report(error, messages)
        }
    }

    /// Loads libpq, which most commands need.
    private static func loadLibrary() throws {
        guard let failure = Connection.loadLibrary() else { return }
        throw CommandError(.failure, "libpq cannot be loaded: \(failure)", hint: "install libpq 5")
    }

    // MARK: - Output

    /// Prints an error and returns its exit status.
    func report(_ error: any Error) -> ExitStatus { report(error, messages) }

    private func report(_ error: any Error, _ messages: Messages) -> ExitStatus {
        let report = CommandError(error)
        if !report.message.isEmpty { messages.failure(report.message, hint: report.hint) }
        return report.status
    }

    /// Prints the help or the version.
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
