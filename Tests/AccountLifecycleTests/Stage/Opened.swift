import Foundation

/// The reply to the app's deletion request.
struct Opened: Decodable {
    let request: UUID
    let token: String

    private enum CodingKeys: String, CodingKey {
        case request = "request_id"
        case token = "status_token"
    }

    init(_ reply: String) throws {
        self = try JSONDecoder().decode(Opened.self, from: Data(reply.utf8))
    }
}
