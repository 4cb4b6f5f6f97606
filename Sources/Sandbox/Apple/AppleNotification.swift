#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A server-to-server notification before it is signed.
package struct AppleNotification: Sendable {
    /// The type of event; Apple's documentation and captured notifications spell a deletion differently.
    package struct Event: Sendable, Hashable, RawRepresentable {
        package let rawValue: String

        package init(rawValue: String) { self.rawValue = rawValue }

        package static let consentRevoked = Event(rawValue: "consent-revoked")
        /// The spelling in Apple's documentation since about 2025.
        package static let accountDeleted = Event(rawValue: "account-deleted")
        /// The older spelling, which most captured notifications have.
        package static let accountDelete = Event(rawValue: "account-delete")
        package static let emailDisabled = Event(rawValue: "email-disabled")
        package static let emailEnabled = Event(rawValue: "email-enabled")
    }

    /// The form of the `events` claim.
    package enum EventsForm: String, Sendable, Codable {
        /// A string that contains an object, as in every capture.
        case text
        /// An object, as in Apple's documentation.
        case object
        /// An array of one object, which is possible but was never captured.
        case array
    }

    /// The unit of `event_time`.
    package enum TimeUnit: String, Sendable, Codable {
        case milliseconds, seconds
    }

    package var event: Event
    package var sub: String
    /// The App ID whose URL is notified.
    package var audience: String
    var eventTime: Date
    package var email: String?
    package var isPrivateEmail: Bool?
    package var identifier = RandomText.token(length: 22)
    /// Whether the token carries `jti`.
    package var isNamed = true
    var issuedAt: Date
    package var eventsForm: EventsForm = .text
    package var timeUnit: TimeUnit = .milliseconds
    /// Whether the token carries `exp`, which captures have and Apple's documentation lacks.
    package var expires = true

    package init(
        _ event: Event,
        sub: String,
        audience: String,
        eventTime: Date,
        email: String? = nil,
        isPrivateEmail: Bool? = nil,
        issuedAt: Date? = nil
    ) {
        self.event = event
        self.sub = sub
        self.audience = audience
        self.eventTime = eventTime
        self.email = email
        self.isPrivateEmail = isPrivateEmail
        self.issuedAt = issuedAt ?? eventTime.addingTimeInterval(6)
    }
}
