/// The identity of a client towards Apple: client id, team and signing key.
package struct AppleClientIdentity: Sendable {
    /// The bundle id of an app, or a Services ID.
    ///
    /// The team id is not part of it.
    package let clientID: String
    /// The team id, ten characters.
    package let teamID: String
    /// The key id, ten characters.
    package let keyID: String
    /// The signing key.
    let key: ApplePrivateKey

    /// Creates an identity; the client id is a bundle id or Services ID.
    ///
    /// - Throws: ``Problem`` for the first invalid part.
    package init(clientID: String, teamID: String, keyID: String, key: ApplePrivateKey) throws(Problem) {
        guard Self.isTenCharacterID(teamID) else { throw .teamID }
        guard Self.isTenCharacterID(keyID) else { throw .keyID }
        guard Self.isClientID(clientID) else { throw .clientID }
        guard !clientID.hasPrefix(teamID + ".") else { throw .clientIDWithTeam }
        self.clientID = clientID
        self.teamID = teamID
        self.keyID = keyID
        self.key = key
    }

    /// An invalid part of an identity.
    package enum Problem: String, Error, Sendable, Hashable, CustomStringConvertible {
        case clientID
        case clientIDWithTeam
        case teamID
        case keyID

        /// What a valid part looks like.
        package var description: String {
            switch self {
            case .clientID: "a client id is a bundle id or a Services ID, such as com.example.app"
            case .clientIDWithTeam: "the client id begins with the team id; give the bundle id alone"
            case .teamID: "a team id has ten letters and digits (developer.apple.com, Membership details)"
            case .keyID: "a key id has ten letters and digits (it is in the name AuthKey_<key id>.p8)"
            }
        }
    }

    private static func isTenCharacterID(_ text: String) -> Bool {
        text.utf8.count == 10 && text.utf8.allSatisfy(isLetterOrDigit)
    }

    private static func isClientID(_ text: String) -> Bool {
        (1...255).contains(text.utf8.count)
            && text.utf8.allSatisfy { isLetterOrDigit($0) || $0 == 0x2E || $0 == 0x2D || $0 == 0x5F }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }
}
