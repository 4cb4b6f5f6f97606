/// The state of revoking a credential without an account, as stored in `pending_revocations`.
enum PendingRevocationState: String, Sendable, Hashable, CaseIterable {
    /// Still being tried.
    case waiting
    /// Apple revoked it.
    case revoked
    /// Its time ran out, the person has an account again, or the app has left the team.
    case givenUp = "given_up"
    /// Set only by earlier releases, which distinguished a final refusal from giving up.
    case refused
}
