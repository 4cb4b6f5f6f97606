extension CommandError {
    /// The error for an account that was just found and is gone by now, because somebody else deleted it first.
    static let accountGone = CommandError(.notFound, "the account no longer exists")

    /// The error for a deletion request that was just found and is gone by now.
    static let requestGone = CommandError(.notFound, "the request no longer exists")
}
