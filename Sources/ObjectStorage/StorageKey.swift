import HTTPCalls
package import Sealing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The key that authenticates us to the Storage service: a secret key, or the legacy `service_role` JWT.
package struct StorageKey: Sendable {
    private let text: Secret<String>
    /// Which of the two forms the key has.
    let form: Form

    /// The forms of keys.
    enum Form: String, Sendable, Hashable {
        /// `sb_secret_...`: not a JWT, and rejected as a bearer token.
        case secretKey
        /// A JWT, sent both as API key and as bearer token.
        case legacyJWT
    }

    /// What the text is instead of a usable key.
    package enum Problem: String, Error, Sendable, Hashable, CustomStringConvertible {
        case empty
        case publishable
        case notServiceRole
        case notAKey

        /// What the text is, and what is expected.
        package var description: String {
            switch self {
            case .empty: "the key is empty"
            case .publishable: "this is a publishable key, which may not delete; give a secret key (sb_secret_...)"
            case .notServiceRole: "this JWT is not of the role service_role; give a secret key (sb_secret_...)"
            case .notAKey: "neither a secret key (sb_secret_...) nor a service_role JWT"
            }
        }
    }

    /// Validates a key.
    ///
    /// - Parameter text: The key; white space around or inside it is removed.
    /// - Throws: ``Problem``, which does not reveal the key.
    package init(_ text: Secret<String>) throws(Problem) {
        let value = text.reveal().filter { !$0.isWhitespace }
        guard !value.isEmpty else { throw .empty }
        if value.hasPrefix("sb_publishable_") { throw .publishable }
        if value.hasPrefix("sb_secret_") {
            form = .secretKey
        } else {
            struct Claims: Decodable { var role: String? }
            let parts = value.split(separator: ".", omittingEmptySubsequences: false)
            guard parts.count == 3, let payload = Base64.decode(parts[1], alphabet: .urlSafe),
                let claims = try? JSONDecoder().decode(Claims.self, from: Data(payload))
            else { throw .notAKey }
            guard claims.role == "service_role" else { throw .notServiceRole }
            form = .legacyJWT
        }
        self.text = Secret(value)
    }

    /// The header fields to send.
    var headers: [HTTPCall.Header] {
        switch form {
        case .secretKey: [.init("apikey", text)]
        case .legacyJWT: [.init("apikey", text), .init("Authorization", text.map { "Bearer \($0)" })]
        }
    }
}
