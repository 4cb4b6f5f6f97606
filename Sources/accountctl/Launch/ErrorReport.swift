/// An error as the user sees it: one clear message, an exit status, and the next step if it is known.
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
        case let error as any ReportableError: self = error.report
        case is CancellationError: self.init(.interrupted, "interrupted")
        default: self.init(.failure, String(describing: error))
        }
    }
}

/// An error that provides its own report; the conformance is declared in the file of the layer or command that the
/// error belongs to.
protocol ReportableError: Error {
    var report: ErrorReport { get }
}
