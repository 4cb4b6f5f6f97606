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
