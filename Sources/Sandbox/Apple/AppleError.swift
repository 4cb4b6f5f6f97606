/// An error of the token endpoints: HTTP 400 and `{"error": code}`.
struct AppleError: Error, Equatable {
    enum Code: String {
        case invalidRequest = "invalid_request"
        case invalidClient = "invalid_client"
        case invalidGrant = "invalid_grant"
        case unsupportedGrantType = "unsupported_grant_type"
        case invalidScope = "invalid_scope"
    }

    let code: Code

    /// The undocumented `error_description`, if one has been observed.
    var text: String?

    /// The reason, for the journal.
    var reason: String

    static func request(_ reason: String) -> AppleError { AppleError(code: .invalidRequest, reason: reason) }

    static func client(_ reason: String) -> AppleError { AppleError(code: .invalidClient, reason: reason) }

    static func grant(_ reason: String, text: String? = nil) -> AppleError {
        AppleError(code: .invalidGrant, text: text, reason: reason)
    }
}
