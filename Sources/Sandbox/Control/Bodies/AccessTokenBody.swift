/// `POST /control/storage/access-tokens`.
struct AccessTokenBody: Decodable {
    let userID: String
    let email: String?
    let lifetimeSeconds: ControlSeconds?

    enum CodingKeys: String, CodingKey {
        case userID = "user_id"
        case email
        case lifetimeSeconds = "lifetime_seconds"
    }
}
