#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A server-to-server notification before it is signed.
package struct AppleNotification: Sendable {
    /// What happened; Apple's page and the field disagree on the spelling of a deletion.
    package struct Event: Sendable, Hashable, RawRepresentable {
        package let rawValue: String

        package init(rawValue: String) { self.rawValue = rawValue }

        package static let consentRevoked = Event(rawValue: "consent-revoked")
        /// The spelling of Apple's page since about 2025.
        package static let accountDeleted = Event(rawValue: "account-deleted")
        /// The older spelling, which most of the field has seen.
        package static let accountDelete = Event(rawValue: "account-delete")
        package static let emailDisabled = Event(rawValue: "email-disabled")
        package static let emailEnabled = Event(rawValue: "email-enabled")
    }

    /// How the `events` claim is written.
    package enum EventsForm: String, Sendable, Codable {
        /// A text that holds an object, as in every capture.
        case text
        /// An object, as Apple's page prints it.
        case object
        /// An array of one object, feared but never captured.
        case array
    }

    /// The unit of `event_time`.
    package enum TimeUnit: String, Sendable, Codable {
        case milliseconds, seconds
    }

    package var event: Event
    package var sub: String
    /// The App ID whose URL is told.
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
    /// Whether the token carries `exp`, which captures do and Apple's page does not.
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
