#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif
import LibPQ

/// How the way to the server is kept from others.
package enum Protection: Sendable, Equatable {
    /// It does not leave this machine.
    case local
    /// By nothing: whoever is in between reads and changes what they like.
    case plaintext
    /// By TLS with whoever answered: that may be somebody in between.
    case unverified
    /// By TLS with a server whose certificate was checked.
    case verified

    /// - Parameters:
    ///   - parameters: those in force.
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

    /// Whether a root certificate is named that is there: libpq then checks the server's by it, whatever the mode, as
    /// verify-ca does.
    private static func namesCertificate(_ parameters: [String: String]) -> Bool {
        guard let path = parameters["sslrootcert"], !path.isEmpty else { return false }
        return access(path, F_OK) == 0
    }
}

extension Connection {
    /// How the way to the server is kept from others; nil where there is no connection.
    package var protection: Protection? {
        handle.map { Protection($0.parametersInForce(), usesTLS: $0.usesTLS) }
    }
}
