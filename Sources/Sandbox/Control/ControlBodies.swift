#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// `POST /control/clock`.
struct ClockBody: Decodable {
    let advanceSeconds: Double

    enum CodingKeys: String, CodingKey {
        case advanceSeconds = "advance_seconds"
    }
}

/// `POST /control/apple/clients`.
struct ClientBody: Decodable {
    let clientID: String
    let kind: AppleClient.Kind?
    let group: String?
    let teamID: String?

    enum CodingKeys: String, CodingKey {
        case clientID = "client_id"
        case kind, group
        case teamID = "team_id"
    }
}

/// `POST /control/apple/sign-ins`.
struct SignInBody: Decodable {
    let clientID: String
    let sub: String?
    let email: String?
    let hidesEmail: Bool?
    let nonce: String?
    let redirectURI: String?

    enum CodingKeys: String, CodingKey {
        case clientID = "client_id"
        case sub, email, nonce
        case hidesEmail = "hides_email"
        case redirectURI = "redirect_uri"
    }
}

/// `POST /control/apple/stop-using`, `delete-account`, `change-password` and `forwarding`.
struct PersonBody: Decodable {
    let clientID: String
    let sub: String
    /// Whether forwarding goes on or off.
    let isOn: Bool?

    enum CodingKeys: String, CodingKey {
        case clientID = "client_id"
        case sub
        case isOn = "on"
    }
}

/// `POST /control/apple/transfers`: starts with a team, accepts without.
struct TransferBody: Decodable {
    let clientID: String
    let teamID: String?

    enum CodingKeys: String, CodingKey {
        case clientID = "client_id"
        case teamID = "team_id"
    }
}

/// `POST /control/apple/rotate-keys`; the body may be missing.
struct RotationBody: Decodable {
    let all: Bool?
}

/// `POST /control/apple/notifications`.
struct NotificationBody: Decodable {
    let type: String
    let sub: String
    let audience: String
    /// How long ago the event happened.
    let ageSeconds: Double?
    let email: String?
    let isPrivateEmail: Bool?
    /// The `jti`, to send one notification again.
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
            eventTime: now.addingTimeInterval(-(ageSeconds ?? 0)),
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

/// `POST /control/storage/access-tokens`.
struct AccessTokenBody: Decodable {
    let userID: String
    let email: String?
    let lifetimeSeconds: Int?

    enum CodingKeys: String, CodingKey {
        case userID = "user_id"
        case email
        case lifetimeSeconds = "lifetime_seconds"
    }
}

/// `POST /control/storage/files`.
struct FilesBody: Decodable {
    let broken: Bool
}
