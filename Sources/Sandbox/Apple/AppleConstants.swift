/// Apple's fixed names and durations, in seconds.
enum AppleConstants {
    static let issuer = "https://appleid.apple.com"
    static let codeLife: Double = 5 * 60
    static let accessTokenLife: Double = 3600
    static let identityTokenLife: Double = 86_400
    static let migrationWindow: Double = 60 * 86_400
}
