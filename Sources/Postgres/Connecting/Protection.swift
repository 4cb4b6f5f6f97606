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
    ///   - verifiesServer: whether TLS is known to have verified the server's certificate.
    init(_ parameters: [String: String], usesTLS: Bool, verifiesServer: Bool) {
        if !TLSRule.leadsElsewhere(parameters) {
            self = .local
        } else if !usesTLS {
            self = .plaintext
        } else {
            // libpq refuses these modes without a root certificate: they tell it even where its TLS library is hidden.
            let isAsked = ["verify-ca", "verify-full"].contains(parameters["sslmode"] ?? "")
            self = isAsked || verifiesServer ? .verified : .unverified
        }
    }
}

extension Connection {
    /// How the connection to the server is protected; nil without a connection.
    package var protection: Protection? {
        handle.map {
            Protection($0.parametersInForce(), usesTLS: $0.usesTLS, verifiesServer: $0.verifiesServer)
        }
    }
}
