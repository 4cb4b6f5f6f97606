package import AccountLifecycle
package import Sealing

/// Sign in with Apple.
package struct AppleSettings: Sendable {
    package let teamID: String?
    package let keyID: String?
    package let privateKey: Secret<String>?
    package let clientIDs: [String]
    package let host: String
    package let giveUp: Duration
    package let timeout: Duration
    package let policy: CredentialPolicy
    package let webClientSecret: Secret<String>?

    /// Whether enough is set to call Apple.
    package var isConfigured: Bool { teamID != nil && keyID != nil && privateKey != nil && !clientIDs.isEmpty }

    init(_ reader: inout SettingsReader) {
        teamID = reader.optional("apple.team_id", .code(length: 10), "The team id of the developer account.")
        keyID = reader.optional("apple.key_id", .code(length: 10), "The id of the Sign in with Apple key.")
        privateKey = reader.secret("apple.private_key", "The .p8 file of that key.")
        clientIDs = reader.read(
            "apple.client_ids",
            .list(of: .text),
            default: [],
            "Bundle ids and Services IDs that sign people in."
        )
        host = reader.read(
            "apple.host",
            .serviceURL,
            default: "https://appleid.apple.com",
            "Apple's address; another one only for the sandbox."
        )
        giveUp = reader.read(
            "apple.give_up",
            .duration(.zero ... .days(25)),
            default: .days(7),
            "How long a deletion waits for Apple before it goes on without revoking."
        )
        timeout = reader.read(
            "apple.timeout",
            .duration(.seconds(1) ... .seconds(60)),
            default: .seconds(10),
            "How long one call to Apple may take."
        )
        policy = Self.policy(&reader)
        webClientSecret = reader.secret(
            "apple.web_client_secret",
            "A copy of the client secret in Supabase's settings, to be warned before it ends."
        )
        let parts: [(String, Bool)] = [
            ("apple.team_id", teamID != nil), ("apple.key_id", keyID != nil),
            ("apple.private_key_file", privateKey != nil), ("apple.client_ids", !clientIDs.isEmpty),
        ]
        guard parts.contains(where: \.1) else { return }
        for (key, isThere) in parts where !isThere && !reader.isSet(key) {
            reader.report(key, "missing: Apple needs the team id, the key id, the key and at least one client id")
        }
    }

    /// What is done about credentials that died.
    private static func policy(_ reader: inout SettingsReader) -> CredentialPolicy {
        var policy = CredentialPolicy()
        func reactions(_ key: String, _ standard: Set<CredentialReaction>, _ help: String) -> Set<CredentialReaction> {
            // In the order of the cases, so that the default is always shown in the same words.
            let ordered = CredentialReaction.allCases.filter(standard.contains)
            return Set(reader.read(key, .list(of: .choice), default: ordered, help))
        }
        policy.consentRevoked = reactions(
            "apple.on_consent_revoked",
            policy.consentRevoked,
            "What is done when a person stops using the app with Apple; [] for nothing."
        )
        policy.accountDeleted = reactions(
            "apple.on_account_deleted",
            policy.accountDeleted,
            "What is done when a person deletes the Apple Account; [] for nothing."
        )
        policy.grantGone = reactions(
            "apple.on_grant_gone",
            policy.grantGone,
            "What is done when the daily check finds a credential dead, perhaps for a changed password; [] for nothing."
        )
        return policy
    }
}
