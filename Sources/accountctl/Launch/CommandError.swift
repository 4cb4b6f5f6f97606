/// A failure as the user sees it: one clear message, an exit status, and the next step if it is known.
///
/// Commands throw it for problems that they detect themselves; errors of the layers below are translated into it.
struct CommandError: ReportableError, Equatable, CustomStringConvertible {
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

    var report: CommandError { self }
    var description: String { message }
}

/// An error that provides its own report; the conformance is declared in the file of the layer or command that the
/// error belongs to.
protocol ReportableError: Error {
    var report: CommandError { get }
}
