package import Sealing
package import SignInWithApple

/// The settings for Sign in with Apple.
package struct AppleSettings: Sendable {
    /// The plain section first, then the others by name.
    package let apps: [AppleApp]
    package let host: String
    package let giveUp: Duration
    package let timeout: Duration
    /// The reactions when a person stops using the app with Apple.
    package let onConsentRevoked: [AppleReaction]
    /// The reactions when a person deletes the Apple Account.
    package let onAccountDeleted: [AppleReaction]
    /// The reactions when the daily check finds a dead credential.
    package let onGrantGone: [AppleReaction]
    package let webClientSecret: Secret<String>?
    /// The file to read the secret from again; nil if the secret came from a variable or from standard input.
    package let webClientSecretFile: String?

    /// Whether enough is set to call Apple.
    package var isConfigured: Bool { !identities.isEmpty }

    /// The identities towards Apple, one for each client id of every app.
    package var identities: [AppleClientIdentity] { apps.flatMap(\.identities) }

    /// The section that defines a client id, such as `apple` or `apple.app.shop`.
    package func section(of clientID: String) -> String {
        apps.first { $0.identities.contains { $0.clientID == clientID } }?.section ?? "apple"
    }

    init(_ reader: inout SettingsReader) {
        var apps: [AppleApp] = []
        for name in [nil] + AppleApp.names(reader) {
            if let app = AppleApp(&reader, name: name) { apps.append(app) }
        }
        apps.reportSharedClientIDs(to: &reader)
        self.apps = apps
        host = reader.read(
            "apple.host",
            .serviceURL,
            default: AppleClients.appleAddress,
            "Apple's address; another one only for the sandbox."
        )
        giveUp = reader.read(
            "apple.give_up",
            .duration(.zero ... .days(25)),
            default: .days(7),
            "How long a deletion waits for Apple before it continues without a revocation."
        )
        timeout = reader.read(
            "apple.timeout",
            // A code exchange makes two calls and fetches Apple's keys twice, all within `CodeExchange.longest`.
            .duration(.seconds(1) ... .seconds(15)),
            default: .seconds(10),
            "How long one call to Apple may take."
        )
        onConsentRevoked = reader.read(
            "apple.on_consent_revoked",
            .list(of: .choice),
            default: [.signOut, .forgetCredential, .markIdentity],
            "What happens when a person stops using the app with Apple; [] for nothing."
        )
        onAccountDeleted = reader.read(
            "apple.on_account_deleted",
            .list(of: .choice),
            default: [.signOut, .forgetCredential, .markIdentity, .requestDeletion],
            "What happens when a person deletes the Apple Account; an account with another way to sign in is never deleted for it; [] for nothing."
        )
        onGrantGone = reader.read(
            "apple.on_grant_gone",
            .list(of: .choice),
            default: [.signOut, .forgetCredential, .markIdentity],
            "What happens when the daily check finds a dead credential, perhaps after a changed password; [] for nothing."
        )
        webClientSecret = reader.secret(
            "apple.web_client_secret",
            "A copy of the client secret in Supabase's settings, to warn before it expires.",
            isNeeded: false
        )
        webClientSecretFile = reader.file(ofSecret: "apple.web_client_secret")
    }
}
