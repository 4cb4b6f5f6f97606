import Terminal

extension PromptRefusal: ReportableError {
    var report: ErrorReport { ErrorReport(.usage, description) }
}

extension UnknownField: ReportableError {
    var report: ErrorReport {
        let hint = "Write a word that is not a field before the option, or after --."
        return ErrorReport(.usage, description, hint: known.isEmpty ? nil : hint)
    }
}

extension OutputClosed: ReportableError {
    var report: ErrorReport { ErrorReport(.outputClosed, "") }
}

extension OutputFailed: ReportableError {
    var report: ErrorReport { ErrorReport(.failure, description) }
}
