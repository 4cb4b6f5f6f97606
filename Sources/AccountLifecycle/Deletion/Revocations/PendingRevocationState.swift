/// How far the revocation of a credential without an account has come, as `pending_revocations` holds it.
enum PendingRevocationState: String, Sendable, Hashable, CaseIterable {
    /// Is tried on.
    case waiting
    /// Apple took it.
    case revoked
    /// Its time was over, or the person has an account again.
    case givenUp = "given_up"
    /// Of earlier releases, which told what was refused for good from what was given up.
    case refused
}
