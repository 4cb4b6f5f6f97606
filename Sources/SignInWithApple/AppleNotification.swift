#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// One verified server-to-server notification.
package struct AppleNotification: Sendable, Hashable {
    /// The notification's `jti`, or a hash of the token if it has none; repeated deliveries share it.
    package let id: String
    /// The configured client id that the notification is for.
    package let audience: String
    /// The events, usually one.
    ///
    /// An event that cannot be read has the type `unreadable`.
    package let events: [Event]

    /// An event in a person's use of Sign in with Apple.
    package struct Event: Sendable, Hashable {
        /// The type of event.
        package let type: EventType
        /// The person's id, one per team; nil if Apple sent no usable one.
        package let sub: String?
        /// When the event happened.
        package let occurredAt: Date
        /// The relay address, in e-mail events only.
        package let email: String?
    }

    /// The type of an event.
    package enum EventType: Sendable, Hashable {
        /// Mail to the relay address is no longer forwarded.
        case emailDisabled
        /// Mail to the relay address is forwarded again.
        case emailEnabled
        /// The person, or our own revocation, ended the app's authorization.
        case consentRevoked
        /// The person's Apple Account was deleted; Apple spells this type in two ways.
        case accountDeleted
        /// An undocumented type, kept as received.
        case other(String)

        /// Parses Apple's spelling.
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

        /// The canonical spelling of the type.
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
    /// The client id and the types, without personal data.
    package var description: String {
        "<notification for \(audience): \(events.map(\.type.text).joined(separator: ", "))>"
    }
}

extension AppleNotification.Event: CustomStringConvertible {
    /// The type, without personal data.
    package var description: String { "<event \(type.text)>" }
}
