/// `POST /control/apple/transfers`: starts with a team, accepts without.
struct TransferBody: Decodable {
    let clientID: String
    let teamID: String?

    enum CodingKeys: String, CodingKey {
        case clientID = "client_id"
        case teamID = "team_id"
    }
}
