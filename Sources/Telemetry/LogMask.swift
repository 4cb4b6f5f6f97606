import Logging

/// Masks metadata by the name of its key, at every level: a last safeguard for the rule not to log such values at all.
enum LogMask {
    private static let secrets: Set<String> = [
        "password", "secret", "client_secret", "private_key",
        "token", "refresh_token", "access_token", "status_token",
        "authorization", "authorization_code", "code",
        "conninfo", "database_url",
    ]
    private static let personal: Set<String> = [
        "email", "e_mail", "address", "relay_address", "phone",
        "full_name", "username", "user", "user_id", "account", "account_id", "sub", "apple_sub", "provider_id",
        "ip", "ip_address",
        "object_name", "avatar_url",
    ]

    static func apply(to value: Logger.MetadataValue, key: String) -> Logger.MetadataValue {
        let name = key.lowercased()
        if secrets.contains(name) { return .string("<secret>") }
        let isPersonal = personal.contains(name)
        switch value {
        case .string, .stringConvertible:
            return isPersonal ? .string(masked("\(value)")) : value
        case .dictionary(let members):
            return .dictionary(
                Dictionary(uniqueKeysWithValues: members.map { ($0, apply(to: $1, key: isPersonal ? key : $0)) })
            )
        case .array(let items):
            return .array(items.map { apply(to: $0, key: key) })
        }
    }

    /// A hint at the value; two values may have the same mask.
    private static func masked(_ text: String) -> String {
        text.count > 8 ? text.prefix(3) + "***" : "***"
    }
}
