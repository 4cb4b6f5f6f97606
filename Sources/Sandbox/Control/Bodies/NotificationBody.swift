#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// `POST /control/apple/notifications`.
struct NotificationBody: Decodable {
    let type: String
    let sub: String
    let audience: String
    /// The age of the event, in seconds.
    let ageSeconds: ControlSeconds?
    let email: String?
    let isPrivateEmail: Bool?
    /// The `jti`, for sending the same notification again.
    let identifier: String?
    let eventsForm: AppleNotification.EventsForm?
    let timeUnit: AppleNotification.TimeUnit?
    let expires: Bool?
    let copies: Int?
    let forgery: Forgery?
    let url: String?

    enum CodingKeys: String, CodingKey {
        case type, sub, audience, email, identifier, expires, copies, forgery, url
        case ageSeconds = "age_seconds"
        case isPrivateEmail = "is_private_email"
        case eventsForm = "events_form"
        case timeUnit = "time_unit"
    }

    func notification(now: Date) -> AppleNotification {
        var notification = AppleNotification(
            .init(rawValue: type),
            sub: sub,
            audience: audience,
            eventTime: now.addingTimeInterval(-(ageSeconds?.value ?? 0)),
            email: email,
            isPrivateEmail: isPrivateEmail,
            issuedAt: now
        )
        if let identifier { notification.identifier = identifier }
        if let eventsForm { notification.eventsForm = eventsForm }
        if let timeUnit { notification.timeUnit = timeUnit }
        if let expires { notification.expires = expires }
        return notification
    }
}
