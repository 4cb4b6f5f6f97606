import Postgres
import SignInWithApple

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An event about a credential, from Apple, a device or our own check, as `credential_events` stores it.
struct CredentialEvent: Sendable, Hashable {
    /// The source of an event.
    enum Source: String, Sendable, Hashable, PostgresDecodable {
        case apple
        case device
        case check
    }

    /// What was reported.
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
        /// An undocumented type, whose name is kept.
        case other(String)
    }

    /// The row's id.
    let id: Int64
    /// The source of the event.
    let source: Source
    /// What was reported.
    let kind: Kind
    /// The client id it is about; nil if a device named none.
    let clientID: String?
    /// The account; nil when there is none.
    let user: UUID?
    /// When it happened, by the clock of its source.
    let happenedAt: Date
}

extension CredentialEvent.Kind {
    private static let names: [(CredentialEvent.Kind, String)] = [
        (.consentRevoked, "consent-revoked"), (.accountDeleted, "account-deleted"), (.emailEnabled, "email-enabled"),
        (.emailDisabled, "email-disabled"), (.grantGone, "grant_gone"), (.stateAuthorized, "state_authorized"),
        (.stateRevoked, "state_revoked"), (.stateNotFound, "state_not_found"),
        (.stateTransferred, "state_transferred"),
    ]

    /// Every kind that is handled here, as it is stored.
    static let known = names.map(\.1)
    /// The prefix of the stored name of an undocumented kind.
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

    /// Converts a type from Apple; an undocumented type keeps as much of its name as the table's constraint allows.
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
