/// `POST /control/apple/transfers`: with a team, starts a transfer; without one, accepts it.
struct TransferBody: Decodable {
    let clientID: String
    let teamID: String?

    enum CodingKeys: String, CodingKey {
        case clientID = "client_id"
        case teamID = "team_id"
    }
}
