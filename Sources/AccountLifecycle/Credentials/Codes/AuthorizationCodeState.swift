import Postgres

/// The state of an authorization code, as `authorization_codes` stores it.
package enum AuthorizationCodeState: String, Sendable, Hashable, CaseIterable, PostgresDecodable {
    /// Waits for its exchange.
    case received
    /// The call to Apple may have happened.
    case exchanging
    /// The credential is stored.
    case exchanged
    /// Apple considers it expired, used, or issued to another client id.
    case refused
    /// It expired before Apple was asked.
    case expired
    /// Its grant is for somebody other than the account, or would be, since the account has no Apple identity.
    case wrongAccount = "wrong_account"
    /// Apple may have granted it, and nobody can revoke that grant.
    case grantUnknown = "grant_unknown"
}
