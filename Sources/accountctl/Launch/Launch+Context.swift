import EventThread
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a command works with, by its options, the variables and the standard streams.
extension Launch {
    /// Where the command's results go, how it asks, and what it runs on.
    ///
    /// - Throws: ``CommandError`` for fields that the command does not have.
    func makeContext(
        of command: any AccountctlCommand,
        _ messages: Messages,
        _ cache: SettingsCache,
        _ thread: EventThread
    ) throws -> CommandContext {
        CommandContext(
            global: command.global,
            environment: environment,
            output: try makeOutput(of: command, messages),
            isInteractive: isInteractive(command.global),
            now: { Date() },
            thread: type(of: command).isSequential ? thread : nil,
            cache: cache
        )
    }

    private func makeOutput(of command: any AccountctlCommand, _ messages: Messages) throws -> Output {
        let style = style(.output, noColour: refusesColour)
        let output = Output(
            format: command.global.outputFormat,
            style: style,
            sink: DescriptorSink(descriptor: 1),
            messages: messages,
            pager: command.global.noPager ? nil : pager(style)
        )
        try output.format.checkSelection(of: command.selectableFields, and: type(of: command).sectionFields)
        if command.selectableFields.isEmpty, output.format.isForPrograms {
            throw CommandError(
                .usage,
                "this command has no fields: --json, --csv, --tsv and --format say nothing about what it prints"
            )
        }
        return output
    }

    private func isInteractive(_ global: GlobalOptions) -> Bool {
        !global.noInput && StandardStreams.isTerminal(.input) && StandardStreams.isTerminal(.error)
    }

    private func pager(_ style: StreamStyle) -> Pager? {
        .decide(style: style, rows: StandardStreams.rows(.output), environment: environment) { program in
            Pager.isInstalled(program, path: environment["PATH"] ?? "")
        }
    }

    /// Whether colours are left away, also where the words are no command.
    var refusesColour: Bool { arguments.contains("--no-color") }

    /// How a stream is written to.
    func style(_ stream: StandardStreams.Stream, noColour: Bool) -> StreamStyle {
        .decide(
            isTerminal: StandardStreams.isTerminal(stream),
            columns: StandardStreams.columns(stream),
            environment: environment,
            noColour: noColour
        )
    }
}
