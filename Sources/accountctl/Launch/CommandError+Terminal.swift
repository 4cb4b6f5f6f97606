import Terminal

extension PromptRefusal: ReportableError {
    var report: CommandError { CommandError(.usage, description) }
}

extension UnknownField: ReportableError {
    var report: CommandError {
        let hint = "Write a word that is not a field before the option, or after --."
        return CommandError(.usage, description, hint: known.isEmpty ? nil : hint)
    }
}

extension OutputClosed: ReportableError {
    var report: CommandError { CommandError(.outputClosed, "") }
}

extension OutputFailed: ReportableError {
    var report: CommandError { CommandError(.failure, description) }
}
