import Postgres
import SignInWithApple

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Something that Apple, a device or our own check told about a credential, as `credential_events` holds it.
struct CredentialEvent: Sendable, Hashable {
    /// Who told it.
    enum Source: String, Sendable, Hashable, PostgresDecodable {
        case apple
        case device
        case check
    }

    /// What was told.
    enum Kind: Sendable, Hashable {
        case consentRevoked
        case accountDeleted
        case emailEnabled
        case emailDisabled
        /// The daily check found the grant gone.
        case grantGone
        case stateAuthorized
        case stateRevoked
        case stateNotFound
        case stateTransferred
        /// A type that nobody documented; kept.
        case other(String)
    }

    /// The row's id.
    let id: Int64
    /// Who told it.
    let source: Source
    /// What was told.
    let kind: Kind
    /// The client id it is about; nil where a device did not say.
    let clientID: String?
    /// The account; nil when there is none.
    let user: UUID?
    /// When it happened, by the teller's clock.
    let happenedAt: Date
}

extension CredentialEvent.Kind {
    private static let names: [(CredentialEvent.Kind, String)] = [
        (.consentRevoked, "consent-revoked"), (.accountDeleted, "account-deleted"), (.emailEnabled, "email-enabled"),
        (.emailDisabled, "email-disabled"), (.grantGone, "grant_gone"), (.stateAuthorized, "state_authorized"),
        (.stateRevoked, "state_revoked"), (.stateNotFound, "state_not_found"),
        (.stateTransferred, "state_transferred"),
    ]

    /// Every kind that has a meaning here, as it is stored.
    static let known = names.map(\.1)
    /// What the name of a kind begins with that nobody documented.
    static let prefixOfOthers = "other."

    /// The kind as it is stored.
    var text: String {
        if case .other(let text) = self { return text }
        return Self.names.first { $0.0 == self }?.1 ?? "other"
    }

    /// Reads a stored kind.
    init(stored text: String) {
        self = Self.names.first { $0.1 == text }?.0 ?? .other(text)
    }

    /// Takes a type from Apple; a type that nobody documented keeps as much of its name as the table's form allows.
    init(_ type: AppleNotification.EventType) {
        switch type {
        case .consentRevoked: self = .consentRevoked
        case .accountDeleted: self = .accountDeleted
        case .emailEnabled: self = .emailEnabled
        case .emailDisabled: self = .emailDisabled
        case .other(let text):
            let letters = text.lowercased().utf8.prefix(56).map { byte -> UInt8 in
                switch byte {
                case 0x61...0x7A, 0x30...0x39, 0x2D, 0x2E, 0x5F: byte
                default: 0x5F
                }
            }
            self = .other(Self.prefixOfOthers + String(decoding: letters, as: UTF8.self))
        }
    }
}
