#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The claims of a notification's token.
struct NotificationClaims: Encodable {
    /// The object within `events`.
    struct Event: Encodable {
        let type: String
        let sub: String
        let eventTime: Int
        let email: String?
        let isPrivateEmail: TextOrBool?

        enum CodingKeys: String, CodingKey {
            case type, sub, email
            case eventTime = "event_time"
            case isPrivateEmail = "is_private_email"
        }
    }

    var iss: String
    let aud: String
    var iat: Int
    var exp: Int?
    let jti: String?
    let event: Event
    let form: AppleNotification.EventsForm

    enum CodingKeys: String, CodingKey {
        case iss, aud, iat, exp, jti, events
    }

    init(_ notification: AppleNotification) {
        let milliseconds = notification.timeUnit == .milliseconds
        iss = AppleConstants.issuer
        aud = notification.audience
        iat = Int(notification.issuedAt.timeIntervalSince1970)
        exp = notification.expires ? iat + Int(AppleConstants.identityTokenLife) : nil
        jti = notification.isNamed ? notification.identifier : nil
        event = Event(
            type: notification.event.rawValue,
            sub: notification.sub,
            eventTime: Int(notification.eventTime.timeIntervalSince1970 * (milliseconds ? 1000 : 1)),
            email: notification.email,
            isPrivateEmail: notification.isPrivateEmail.map { .text($0) }
        )
        form = notification.eventsForm
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(iss, forKey: .iss)
        try container.encode(aud, forKey: .aud)
        try container.encode(iat, forKey: .iat)
        try container.encodeIfPresent(exp, forKey: .exp)
        try container.encodeIfPresent(jti, forKey: .jti)
        switch form {
        case .object: try container.encode(event, forKey: .events)
        case .array: try container.encode([event], forKey: .events)
        case .text:
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            try container.encode(String(decoding: try encoder.encode(event), as: UTF8.self), forKey: .events)
        }
    }
}
