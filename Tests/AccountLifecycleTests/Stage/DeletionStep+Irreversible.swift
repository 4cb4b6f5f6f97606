import AccountLifecycle

extension DeletionStep {
    /// Whether the step changes what is not ours: brakes pulled after it was decided on have to be seen before its
    /// first act.
    ///
    /// Each of these steps looks by itself, under its locks.
    var isIrreversible: Bool {
        switch self {
        case .preflight, .verify, .settle: false
        case .lockOut, .revokeApple, .deleteAvatars, .deleteRows, .scrubAuth, .receipt: true
        }
    }
}
