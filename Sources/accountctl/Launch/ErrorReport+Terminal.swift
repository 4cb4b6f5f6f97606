import Terminal

extension PromptRefusal: ReportableError {
    var report: ErrorReport { ErrorReport(.usage, description) }
}

extension UnknownField: ReportableError {
    var report: ErrorReport {
        let hint = "A word that is no field stands before the option, or behind --."
        return ErrorReport(.usage, description, hint: known.isEmpty ? nil : hint)
    }
}

extension OutputClosed: ReportableError {
    var report: ErrorReport { ErrorReport(.outputClosed, "") }
}

extension OutputFailed: ReportableError {
    var report: ErrorReport { ErrorReport(.failure, description) }
}
