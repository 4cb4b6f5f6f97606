/// A download from Apple's developer portal: the key that signs client secrets, with its identifiers.
package struct DeveloperKey: Sendable, Codable {
    /// Ten characters; the `iss` of client secrets.
    package let teamID: String
    /// Ten characters; the `kid` of client secrets.
    package let keyID: String
    /// The contents of `AuthKey_KEYID.p8`, generated at run time and useless elsewhere.
    package let privateKey: String

    package init(teamID: String, keyID: String, privateKey: String) {
        self.teamID = teamID
        self.keyID = keyID
        self.privateKey = privateKey
    }
}
