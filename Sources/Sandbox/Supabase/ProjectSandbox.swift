import Crypto
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The simulated management API of Supabase: one project's settings for Sign in with Apple.
package final class ProjectSandbox: Sendable {
    /// The project's settings.
    package struct Settings: Sendable, Equatable {
        package var isOn = true
        /// The client ids; the web flow uses the first.
        package var clientIDs: [String]
        package var secret: String?
        /// Whether the API shows the secret itself or only a hash.
        package var showsSecret = false
    }

    /// The project's reference.
    package let reference = String(decoding: (0..<20).map { _ in UInt8.random(in: 0x61...0x7A) }, as: UTF8.self)

    /// The access token that may read and change the project.
    package let token = "sbp_" + RandomText.hex(length: 40)

    private let state: Mutex<Settings>

    init(clients: [SandboxConfiguration.Client]) {
        let services = clients.filter { $0.kind == .services } + clients.filter { $0.kind != .services }
        state = Mutex(Settings(clientIDs: services.map(\.id)))
    }

    /// The current settings.
    package var settings: Settings { state.withLock { $0 } }

    /// Changes the settings, as in the dashboard.
    package func change(_ body: @Sendable (inout Settings) -> Void) {
        state.withLock { body(&$0) }
    }

    /// Answers a request for the settings of a project; with `carryOut` false, the answer is the same but nothing is
    /// changed.
    func answer(_ reference: String, _ request: ReceivedRequest, carryOut: Bool) throws -> Reply {
        guard request.bearer == token else { return try problem(401, "Unauthorized") }
        guard reference == self.reference else { return try problem(404, "Project not found") }
        switch request.method {
        case "GET": return try .json(Answer(settings))
        case "PATCH":
            guard let change = try? JSONDecoder().decode(Change.self, from: Data(request.body)) else {
                return try problem(400, "Invalid body")
            }
            var changed = settings
            changed.secret = change.secret
            if carryOut { state.withLock { $0.secret = change.secret } }
            return try .json(Answer(changed))
        default: return try problem(405, "Method not allowed")
        }
    }

    private func problem(_ status: Int, _ message: String) throws -> Reply {
        try .json(["message": message], status: status, reason: message)
    }

    private struct Change: Decodable {
        let secret: String

        enum CodingKeys: String, CodingKey {
            case secret = "external_apple_secret"
        }
    }

    private struct Answer: Encodable {
        let isOn: Bool
        let clientIDs: String
        let secret: String?

        enum CodingKeys: String, CodingKey {
            case isOn = "external_apple_enabled"
            case clientIDs = "external_apple_client_id"
            case secret = "external_apple_secret"
        }

        private static func hash(_ secret: String) -> String {
            SHA256.hash(data: Data(secret.utf8)).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }

        init(_ settings: Settings) {
            isOn = settings.isOn
            clientIDs = settings.clientIDs.joined(separator: ",")
            secret = settings.secret.map { settings.showsSecret ? $0 : Self.hash($0) }
        }
    }
}
