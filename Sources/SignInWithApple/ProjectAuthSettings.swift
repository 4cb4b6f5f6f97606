package import HTTPCalls
package import Sealing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A Supabase project's settings of Sign in with Apple, through the management API: where the web flow's secret is
/// kept.
///
/// Outcomes are values; a call throws only `CancellationError`. All calls may be repeated.
package struct ProjectAuthSettings: Sendable {
    /// Where the management API lives.
    package static let managementAddress = "https://api.supabase.com"

    /// What the project says about Sign in with Apple.
    package struct Provider: Sendable {
        /// Whether people can sign in with Apple at all.
        package let isOn: Bool
        /// The client ids whose identity tokens are taken; the web flow uses the first.
        package let clientIDs: [String]
        /// What is kept as the secret, where the API shows it; often it shows a hash alone.
        package let secret: Secret<String>?

        /// The client id of the web flow.
        package var webClientID: String? { clientIDs.first }
    }

    /// What became of a call.
    package enum Outcome<Value: Sendable>: Sendable {
        case done(Value)
        /// The token may not do this, or the project is not one of its owner's.
        case notAllowed(status: Int)
        /// The request was not taken.
        case refused(status: Int)
        /// No verdict now; worth trying again.
        case later(String)
    }

    /// The project's reference, twenty letters.
    package let project: String
    private let token: Secret<String>
    private let address: ServiceAddress
    private let caller: HTTPCaller
    private let deadline: Duration

    /// Names a project by its reference, with an access token of the management API.
    ///
    /// The address is that of the API or of a stand-in for it. One call must have ended by `deadline`, repeats
    /// included.
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

    /// Reads what the project says about Sign in with Apple.
    ///
    /// - Returns: What it says, or why nothing can be said.
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
            // A client secret is base64 and points: nothing in it needs an escape.
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

    /// The part of the answer that is about Apple; some projects keep the additional ids in a field of their own.
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
