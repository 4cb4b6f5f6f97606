import Terminal

/// An error as its user sees it: one clear message and an exit status.
struct ErrorReport: Equatable {
    let status: ExitStatus
    let message: String
    let hint: String?

    init(_ status: ExitStatus, _ message: String, hint: String? = nil) {
        self.status = status
        self.message = message
        self.hint = hint
    }

    /// Translates an error of any layer.
    init(_ error: any Error) {
        switch error {
        case let error as CommandError:
            self.init(error.status, error.message, hint: error.hint)
        case let error as any ReportableError:
            self = error.report
        case let error as PromptRefusal:
            self.init(.usage, error.description)
        case let error as UnknownField:
            let hint = "A word that is no field stands before the option, or behind --."
            self.init(.usage, error.description, hint: error.known.isEmpty ? nil : hint)
        case is OutputClosed:
            self.init(.outputClosed, "")
        case let error as OutputFailed:
            self.init(.failure, error.description)
        case is CancellationError:
            self.init(.interrupted, "interrupted")
        default:
            self.init(.failure, String(describing: error))
        }
    }
}

/// An error that knows how it should be shown; the file of the layer or command it belongs to declares the conformance.
protocol ReportableError: Error {
    var report: ErrorReport { get }
}
