/// The claims of an identity token, with the types observed in captured tokens.
struct IdentityTokenClaims: Encodable {
    var iss = AppleConstants.issuer
    var aud: String
    var exp: Int
    var iat: Int
    var sub: String
    var nonce: String?
    var cHash: String?
    var atHash: String?
    var email: String?
    var emailVerified: TextOrBool?
    var isPrivateEmail: TextOrBool?
    var authTime: Int
    var nonceSupported = true
    var realUserStatus: Int?
    var transferSub: String?

    enum CodingKeys: String, CodingKey {
        case iss, aud, exp, iat, sub, nonce, email
        case cHash = "c_hash"
        case atHash = "at_hash"
        case emailVerified = "email_verified"
        case isPrivateEmail = "is_private_email"
        case authTime = "auth_time"
        case nonceSupported = "nonce_supported"
        case realUserStatus = "real_user_status"
        case transferSub = "transfer_sub"
    }
}

/// A boolean that Apple writes either as such or as a string.
enum TextOrBool: Encodable {
    case text(Bool)
    case bool(Bool)

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let value): try container.encode(value ? "true" : "false")
        case .bool(let value): try container.encode(value)
        }
    }
}
