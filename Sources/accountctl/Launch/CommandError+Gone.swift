extension CommandError {
    /// That an account is not there any more which has just been found: somebody else was faster.
    static let accountGone = CommandError(.notFound, "the account has just gone")

    /// The same of a deletion request.
    static let requestGone = CommandError(.notFound, "the request has just gone")
}
