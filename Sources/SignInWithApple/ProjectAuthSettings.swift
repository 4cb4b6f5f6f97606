package import HTTPCalls
package import Sealing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A Supabase project's settings for Sign in with Apple, which hold the web flow's secret, through the management API.
///
/// Outcomes are values; a call throws only `CancellationError`. All calls are idempotent.
package struct ProjectAuthSettings: Sendable {
    /// The address of the management API.
    package static let managementAddress = "https://api.supabase.com"

    /// The project's settings for Sign in with Apple.
    package struct Provider: Sendable {
        /// Whether Sign in with Apple is enabled.
        package let isOn: Bool
        /// The client ids whose identity tokens the project accepts; the web flow uses the first.
        package let clientIDs: [String]
        /// The stored secret, if the API returns it; often the API returns only a hash.
        package let secret: Secret<String>?

        /// The client id of the web flow.
        package var webClientID: String? { clientIDs.first }
    }

    /// The outcome of a call.
    package enum Outcome<Value: Sendable>: Sendable {
        case done(Value)
        /// The token lacks the permission, or its owner has no access to the project.
        case notAllowed(status: Int)
        /// The API refused the request.
        case refused(status: Int)
        /// No verdict for now; worth retrying.
        case later(String)
    }

    /// The project's reference, twenty letters.
    package let project: String
    private let token: Secret<String>
    private let address: ServiceAddress
    private let caller: HTTPCaller
    private let deadline: Duration

    /// Creates access to a project by its reference, with an access token of the management API.
    ///
    /// The address is that of the API or of a stand-in. One call, including its retries, must end by `deadline`.
    package init(
        project: String,
        token: Secret<String>,
        address: ServiceAddress,
        caller: HTTPCaller,
        deadline: Duration = .seconds(20)
    ) {
        self.project = project
        self.token = token
        self.address = address
        self.caller = caller
        self.deadline = deadline
    }

    /// Reads the project's settings for Sign in with Apple.
    ///
    /// - Returns: The settings, or why they could not be read.
    /// - Throws: `CancellationError`.
    package func provider() async throws(CancellationError) -> Outcome<Provider> {
        switch try await send(.get, body: nil) {
        case .done(let body):
            guard let answer = try? JSONDecoder().decode(Answer.self, from: Data(body)) else {
                return .later("the answer was not understood")
            }
            return .done(answer.provider)
        case .notAllowed(let status): return .notAllowed(status: status)
        case .refused(let status): return .refused(status: status)
        case .later(let reason): return .later(reason)
        }
    }

    /// Replaces the secret of the web flow.
    ///
    /// - Parameter secret: A client secret of the project's first client id.
    /// - Returns: Whether it was replaced.
    /// - Throws: `CancellationError`.
    package func replaceSecret(_ secret: Secret<String>) async throws(CancellationError) -> Outcome<Void> {
        let change = secret.map { text -> [UInt8] in
            // A client secret consists of base64 and dots, so nothing needs escaping.
            Array(#"{"external_apple_secret":"\#(text)"}"#.utf8)
        }
        switch try await send(.patch, body: change) {
        case .done: return .done(())
        case .notAllowed(let status): return .notAllowed(status: status)
        case .refused(let status): return .refused(status: status)
        case .later(let reason): return .later(reason)
        }
    }

    private func send(_ method: HTTPCall.Method, body: Secret<[UInt8]>?) async throws(CancellationError)
        -> Outcome<[UInt8]>
    {
        let outcome = try await caller.perform(
            HTTPCall(
                label: "supabase.auth-settings",
                method: method,
                address: address,
                path: "/v1/projects/\(PercentEncoding.component(project))/config/auth",
                headers: [
                    .init("Authorization", token.map { "Bearer \($0)" }), .init("Accept", "application/json"),
                    .init("Content-Type", "application/json"),
                ],
                body: body,
                deadline: deadline,
                attemptTimeout: min(.seconds(10), deadline),
                repetition: .always
            )
        )
        switch outcome {
        case .reply(let reply):
            switch reply.status {
            case 200...299: return .done(reply.body)
            case 401, 403, 404: return .notAllowed(status: reply.status)
            case 429, 500...599: return .later("HTTP \(reply.status)")
            default: return .refused(status: reply.status)
            }
        case .replyTooLarge: return .later("the answer is too long")
        case .timedOut: return .later("no answer in time")
        case .interrupted: return .later("the connection was cut")
        case .unreachable(let reason): return .later("\(reason)")
        }
    }

    /// The part of the answer about Apple; some projects store the additional ids in a separate field.
    private struct Answer: Decodable {
        let isOn: Bool?
        let clientIDs: String?
        let additionalClientIDs: String?
        let secret: String?

        enum CodingKeys: String, CodingKey {
            case isOn = "external_apple_enabled"
            case clientIDs = "external_apple_client_id"
            case additionalClientIDs = "external_apple_additional_client_ids"
            case secret = "external_apple_secret"
        }

        var provider: Provider {
            let ids = [clientIDs, additionalClientIDs].compactMap(\.self).joined(separator: ",")
            return Provider(
                isOn: isOn ?? false,
                clientIDs: ids.split { $0 == "," || $0.isWhitespace }.map(String.init),
                secret: secret.flatMap { $0.isEmpty ? nil : Secret($0) }
            )
        }
    }
}
