import EventThread
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Builds a command's context from its options, the environment variables and the standard streams.
extension Launch {
    /// The context of a command: where results go, how it prompts, and which thread it runs on.
    ///
    /// - Throws: ``CommandError`` for selected fields that the command does not have.
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

    /// Whether colours are off; read from the raw arguments, so that it also applies if they do not parse.
    var refusesColour: Bool { arguments.contains("--no-color") }

    /// The style in which a stream is written.
    func style(_ stream: StandardStreams.Stream, noColour: Bool) -> StreamStyle {
        .decide(
            isTerminal: StandardStreams.isTerminal(stream),
            columns: StandardStreams.columns(stream),
            environment: environment,
            noColour: noColour
        )
    }
}
