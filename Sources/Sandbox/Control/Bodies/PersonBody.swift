/// `POST /control/apple/stop-using`, `delete-account`, `change-password` and `forwarding`.
struct PersonBody: Decodable {
    let clientID: String
    let sub: String
    /// Whether forwarding is switched on or off.
    let isOn: Bool?

    enum CodingKeys: String, CodingKey {
        case clientID = "client_id"
        case sub
        case isOn = "on"
    }
}
