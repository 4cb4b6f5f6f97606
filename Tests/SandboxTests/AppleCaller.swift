import Crypto
import Foundation
import Sandbox

/// Talks to the pretended Apple with client secrets made by hand, so that each can be wrong in one way.
struct AppleCaller: Sendable {
    let sandbox: Sandbox
    var clientID = "com.example.app"

    /// Runs a sandbox for the duration of a closure, which also gets a caller for the usual client id.
    static func with(_ body: @Sendable (Sandbox, AppleCaller) async throws -> Void) async throws {
        try await Sandbox.with { sandbox in try await body(sandbox, AppleCaller(sandbox: sandbox)) }
    }

    /// A client secret that is right but for what the arguments say.
    func secret(
        key: DeveloperKey? = nil,
        header: [String: String] = [:],
        claims: [String: any Sendable] = [:],
        without: [String] = [],
        der: Bool = false
    ) throws -> String {
        let key = key ?? sandbox.apple.developerKey
        let now = Date().timeIntervalSince1970.rounded(.down)
        var head: [String: Any] = ["alg": "ES256", "kid": key.keyID]
        var body: [String: Any] = [
            "iss": key.teamID, "iat": now - 30, "exp": now + 300, "aud": "https://appleid.apple.com", "sub": clientID,
        ]
        for (name, value) in header { head[name] = value }
        for (name, value) in claims { body[name] = value }
        for name in without { (head[name], body[name]) = (nil, nil) }
        let signed =
            try Self.base64(JSONSerialization.data(withJSONObject: head)) + "."
            + Self.base64(JSONSerialization.data(withJSONObject: body))
        let signature = try P256.Signing.PrivateKey(pemRepresentation: key.privateKey).signature(for: Data(signed.utf8))
        return signed + "." + Self.base64(der ? signature.derRepresentation : signature.rawRepresentation)
    }

    /// Posts a form; the client's fields are added where they are not given.
    func post(_ path: String, _ fields: [String: String], bearer: String? = nil) async throws -> Answer {
        var all = fields
        if all["client_id"] == nil { all["client_id"] = clientID }
        if all["client_secret"] == nil { all["client_secret"] = try secret() }
        return try await Self.form(sandbox.baseURL + path, all, bearer: bearer)
    }

    func exchange(_ code: String, _ more: [String: String] = [:]) async throws -> Answer {
        try await post(
            "/auth/token",
            ["grant_type": "authorization_code", "code": code].merging(more) { _, new in new }
        )
    }

    func refresh(_ token: String) async throws -> Answer {
        try await post("/auth/token", ["grant_type": "refresh_token", "refresh_token": token])
    }

    func revoke(_ token: String, _ more: [String: String] = [:]) async throws -> Answer {
        try await post("/auth/revoke", ["token": token].merging(more) { _, new in new })
    }

    /// Signs somebody in and returns their refresh token.
    func refreshToken(sub: String? = nil) async throws -> String {
        let answer = try await exchange(sandbox.apple.issueCode(clientID: clientID, sub: sub))
        guard let token = answer["refresh_token"] else { throw SandboxError("no refresh token: \(answer.text)") }
        return token
    }

    static func form(_ url: String, _ fields: [String: String], bearer: String? = nil) async throws -> Answer {
        let body = fields.map { "\(encode($0.key))=\(encode($0.value))" }.joined(separator: "&")
        var headers = ["Content-Type": "application/x-www-form-urlencoded"]
        if let bearer { headers["Authorization"] = "Bearer \(bearer)" }
        return try await Answer.to(.post, url, headers: headers, body: Array(body.utf8))
    }

    static func encode(_ text: String) -> String {
        let allowed = CharacterSet(charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~")
        return text.addingPercentEncoding(withAllowedCharacters: allowed) ?? ""
    }

    static func base64(_ data: Data) -> String {
        data.base64EncodedString()
            .replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }

    static func data(base64 text: Substring) -> Data? {
        let standard = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        return Data(base64Encoded: standard + String(repeating: "=", count: (4 - standard.count % 4) % 4))
    }

    /// The claims of a token, unchecked.
    static func claims(_ token: String?) -> [String: Any] {
        guard
            let parts = token?.split(separator: "."), parts.count == 3, let data = data(base64: parts[1]),
            let object = try? JSONSerialization.jsonObject(with: data) as? [String: Any]
        else { return [:] }
        return object
    }
}
