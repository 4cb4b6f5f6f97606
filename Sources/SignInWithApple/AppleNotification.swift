#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// One verified server-to-server notification.
package struct AppleNotification: Sendable, Hashable {
    /// The notification's `jti`, or the hash of one that has none: repeats of a delivery share it.
    package let id: String
    /// The client id it is for, one of the configured.
    package let audience: String
    /// When Apple signed it, or, where it does not say, when it was read.
    let issuedAt: Date
    /// What happened; usually one event.
    ///
    /// What cannot be read is one of type `unreadable`.
    package let events: [Event]

    /// Something that happened to a person's use of Sign in with Apple.
    package struct Event: Sendable, Hashable {
        /// What happened.
        package let type: EventType
        /// The person's id, one per team; nil where Apple names none that could be.
        package let sub: String?
        /// When it happened.
        package let occurredAt: Date
        /// The relay address, in e-mail events only.
        package let email: String?
        /// Whether the address is a relay address.
        let isPrivateEmail: Bool?

        /// An event.
        init(type: EventType, sub: String?, occurredAt: Date, email: String?, isPrivateEmail: Bool?) {
            self.type = type
            self.sub = sub
            self.occurredAt = occurredAt
            self.email = email
            self.isPrivateEmail = isPrivateEmail
        }
    }

    /// What happened.
    package enum EventType: Sendable, Hashable {
        /// Mail to the relay address is no longer forwarded.
        case emailDisabled
        /// Mail to the relay address is forwarded again.
        case emailEnabled
        /// The person, or our own revocation, ended the app's use.
        case consentRevoked
        /// The person had the Apple Account deleted; both spellings of it.
        case accountDeleted
        /// A type nobody documented; kept.
        case other(String)

        /// Reads Apple's spelling.
        package init(_ text: String) {
            self =
                switch text {
                case "email-disabled": .emailDisabled
                case "email-enabled": .emailEnabled
                case "consent-revoked": .consentRevoked
                case "account-deleted", "account-delete": .accountDeleted
                default: .other(text)
                }
        }

        /// The one spelling of the type.
        var text: String {
            switch self {
            case .emailDisabled: "email-disabled"
            case .emailEnabled: "email-enabled"
            case .consentRevoked: "consent-revoked"
            case .accountDeleted: "account-deleted"
            case .other(let text): text
            }
        }
    }
}

extension AppleNotification: CustomStringConvertible {
    /// Client id and types; nothing that names the person.
    package var description: String {
        "<notification for \(audience): \(events.map(\.type.text).joined(separator: ", "))>"
    }
}

extension AppleNotification.Event: CustomStringConvertible {
    /// The type; nothing that names the person.
    package var description: String { "<event \(type.text)>" }
}
