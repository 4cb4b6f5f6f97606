/// What a developer downloads from Apple's portal: the key that signs client secrets, and the names that go with it.
package struct DeveloperKey: Sendable, Codable {
    /// Ten characters; the `iss` of client secrets.
    package let teamID: String
    /// Ten characters; the `kid` of client secrets.
    package let keyID: String
    /// The contents of `AuthKey_KEYID.p8`, made at run time and worth nothing elsewhere.
    package let privateKey: String

    package init(teamID: String, keyID: String, privateKey: String) {
        self.teamID = teamID
        self.keyID = keyID
        self.privateKey = privateKey
    }
}
