import Postgres

/// How far an authorization code has come, as `authorization_codes` holds it.
package enum AuthorizationCodeState: String, Sendable, Hashable, CaseIterable, PostgresDecodable {
    /// Waits for its exchange.
    case received
    /// The call to Apple may have happened.
    case exchanging
    /// The credential is held.
    case exchanged
    /// For Apple expired, used, or of another client id.
    case refused
    /// Its time was over before Apple was asked.
    case expired
    /// Its grant speaks for somebody else than the account, or would: the account has no identity of Apple.
    case wrongAccount = "wrong_account"
    /// Apple may have granted, and nobody can revoke it.
    case grantUnknown = "grant_unknown"
}
