/// A failure in the words of the command line: what happened, and what to do about it.
///
/// Commands throw it for what they find wrong themselves; errors of the layers below are translated by ``ErrorReport``.
struct CommandError: Error, Equatable, CustomStringConvertible {
    let status: ExitStatus
    let message: String
    /// What to do next, if that is known.
    let hint: String?

    init(_ status: ExitStatus, _ message: String, hint: String? = nil) {
        self.status = status
        self.message = message
        self.hint = hint
    }

    var description: String { message }
}
