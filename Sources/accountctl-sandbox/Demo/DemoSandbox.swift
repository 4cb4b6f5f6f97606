import Foundation
import Sandbox

/// The sandbox as a device and an app see it, over HTTP.
struct DemoSandbox: Sendable {
    let url: String

    /// Signs in, and returns what a device hands to the app.
    func signIn(
        clientID: String,
        sub: String? = nil,
        email: String? = nil,
        hidesEmail: Bool = false
    ) async throws -> AppleSandbox.SignIn {
        struct Body: Encodable {
            let clientID: String
            let sub: String?
            let email: String?
            let hidesEmail: Bool

            enum CodingKeys: String, CodingKey {
                case clientID = "client_id"
                case sub, email
                case hidesEmail = "hides_email"
            }
        }
        let body = Body(clientID: clientID, sub: sub, email: email, hidesEmail: hidesEmail)
        return try await control("apple/sign-ins", body, as: AppleSandbox.SignIn.self)
    }

    /// The access token of a signed-in user.
    func accessToken(of user: UUID) async throws -> String {
        let body = ["user_id": user.uuidString.lowercased()]
        let answer = try await control("storage/access-tokens", body, as: [String: String].self)
        guard let token = answer["access_token"] else { throw SandboxError("the sandbox gave no access token") }
        return token
    }

    /// Uploads a file to `avatars` as the signed-in user.
    func upload(_ key: String, _ bytes: [UInt8], token: String) async throws {
        let answer = try await HTTPExchange.send(
            "POST",
            "\(url)/storage/v1/object/avatars/\(key)",
            body: bytes,
            headers: [
                "Authorization": "Bearer \(token)", "Content-Type": "image/jpeg", "Cache-Control": "max-age=3600",
            ]
        )
        try check(answer, "the upload of an avatar")
    }

    private func control<Answer: Decodable>(
        _ path: String,
        _ body: some Encodable,
        as type: Answer.Type
    ) async throws -> Answer {
        let answer = try await HTTPExchange.send(
            "POST",
            "\(url)/control/\(path)",
            body: Array(try JSONEncoder().encode(body)),
            headers: ["Content-Type": "application/json"]
        )
        try check(answer, path)
        return try JSONDecoder().decode(type, from: Data(answer.body))
    }

    private func check(_ answer: HTTPExchange, _ what: String) throws {
        guard answer.status / 100 != 2 else { return }
        throw SandboxError("\(what) was answered \(answer.status): \(String(decoding: answer.body, as: UTF8.self))")
    }
}
