/// A failure as the command line reports it: what happened, and what to do about it.
///
/// Commands throw it for problems that they detect themselves; ``ErrorReport`` translates the errors of the layers
/// below.
struct CommandError: ReportableError, Equatable, CustomStringConvertible {
    let report: ErrorReport

    init(_ status: ExitStatus, _ message: String, hint: String? = nil) {
        report = ErrorReport(status, message, hint: hint)
    }

    var status: ExitStatus { report.status }
    var message: String { report.message }
    /// What to do next, if that is known.
    var hint: String? { report.hint }

    var description: String { message }
}
