import AccountLifecycle

extension DeletionStep {
    /// Whether the step changes data that is not ours, and so must notice brakes pulled after it was decided on, before
    /// its first act.
    ///
    /// Each of these steps checks the brakes itself, under its locks.
    var isIrreversible: Bool {
        switch self {
        case .preflight, .verify, .settle: false
        case .lockOut, .revokeApple, .deleteAvatars, .deleteRows, .scrubAuth, .receipt: true
        }
    }
}
