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
