#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif
import LibPQ

/// How the connection to the server is protected.
package enum Protection: Sendable, Equatable {
    /// The connection does not leave this machine.
    case local
    /// Not at all: anybody on the path can read and change the traffic.
    case plaintext
    /// By TLS without verification: the peer may be somebody on the path.
    case unverified
    /// By TLS with a server whose certificate was verified.
    case verified

    /// - Parameters:
    ///   - parameters: the parameters in force.
    ///   - usesTLS: whether TLS is in use.
    init(_ parameters: [String: String], usesTLS: Bool) {
        if !TLSRule.leadsElsewhere(parameters) {
            self = .local
        } else if !usesTLS {
            self = .plaintext
        } else {
            let isAsked = ["verify-ca", "verify-full"].contains(parameters["sslmode"] ?? "")
            self = isAsked || Self.namesCertificate(parameters) ? .verified : .unverified
        }
    }

    /// Whether a root certificate is configured and exists: libpq then verifies the server's certificate with it in
    /// every mode, as verify-ca does.
    private static func namesCertificate(_ parameters: [String: String]) -> Bool {
        guard let path = parameters["sslrootcert"], !path.isEmpty else { return false }
        return access(path, F_OK) == 0
    }
}

extension Connection {
    /// How the connection to the server is protected; nil without a connection.
    package var protection: Protection? {
        handle.map { Protection($0.parametersInForce(), usesTLS: $0.usesTLS) }
    }
}
