/// The address of a service: scheme, host, port and an optional prefix of all its paths.
///
/// Plain `http` is accepted only for loopback hosts, unless the caller allows it: a typing mistake must not send a
/// token across a network in the clear.
package struct ServiceAddress: Sendable, Hashable, CustomStringConvertible {
    /// `https` or `http`.
    package let scheme: String
    /// The host in lower case; an IPv6 address keeps its brackets.
    package let host: String
    /// The port as written; nil for the scheme's default.
    package let port: Int?
    /// Empty, or a path that starts with a slash and ends without one.
    package let pathPrefix: String

    /// Parses `https://host[:port][/path]`.
    ///
    /// - Parameters:
    ///   - text: The address. User information, a query or a fragment is refused.
    ///   - allowPlainHTTP: Whether `http` is accepted for hosts other than loopback.
    /// - Throws: ``Problem`` if the address is invalid.
    package init(_ text: String, allowPlainHTTP: Bool = false) throws(Problem) {
        guard let separator = text.firstRange(of: "://") else { throw .notAnAddress }
        let scheme = text[..<separator.lowerBound].lowercased()
        guard scheme == "https" || scheme == "http" else { throw .unknownScheme }

        let rest = text[separator.upperBound...]
        guard !rest.contains(where: { $0 == "?" || $0 == "#" || $0 == "\\" || $0.isWhitespace || !$0.isASCII }) else {
            throw .notAnAddress
        }
        let slash = rest.firstIndex(of: "/") ?? rest.endIndex
        let authority = rest[..<slash]
        guard !authority.contains("@") else { throw .userInformation }

        let (host, port) = try Self.splitAuthority(authority)
        var path = String(rest[slash...])
        while path.hasSuffix("/") { path.removeLast() }

        self.scheme = scheme
        self.host = host.lowercased()
        self.port = port
        self.pathPrefix = path
        if scheme == "http", !allowPlainHTTP, !isLoopback { throw .plainHTTP }
    }

    private static func splitAuthority(_ authority: Substring) throws(Problem) -> (host: Substring, port: Int?) {
        var host = authority
        var portText: Substring?
        if authority.hasPrefix("[") {
            guard let bracket = authority.firstIndex(of: "]") else { throw .notAnAddress }
            let afterBracket = authority.index(after: bracket)
            host = authority[..<afterBracket]
            let rest = authority[afterBracket...]
            guard rest.isEmpty || rest.first == ":" else { throw .notAnAddress }
            portText = rest.isEmpty ? nil : rest.dropFirst()
        } else if let colon = authority.firstIndex(of: ":") {
            host = authority[..<colon]
            portText = authority[authority.index(after: colon)...]
        }
        guard !host.isEmpty else { throw .notAnAddress }
        guard let portText else { return (host, nil) }
        guard let port = Int(portText), (1...65535).contains(port) else { throw .badPort }
        return (host, port)
    }

    /// Whether the host is this machine, judged by its name alone.
    package var isLoopback: Bool {
        if host == "localhost" || host == "[::1]" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }

    /// The host and the port, which are the key for limiting concurrency.
    var hostAndPort: String {
        port.map { "\(host):\($0)" } ?? host
    }

    /// The scheme, host, port and path prefix, as configured.
    package var description: String {
        "\(scheme)://\(hostAndPort)\(pathPrefix)"
    }

    /// The URL for a percent-encoded path that starts with a slash.
    package func url(path: String) -> String {
        description + path
    }
}

extension ServiceAddress {
    /// Why an address is invalid.
    package enum Problem: Error, Sendable, Hashable, CustomStringConvertible {
        /// Not `https://host[:port][/path]`.
        case notAnAddress
        /// Neither `https` nor `http`.
        case unknownScheme
        /// A user name or password before the host.
        case userInformation
        /// An invalid port number.
        case badPort
        /// `http` to a host other than loopback.
        case plainHTTP

        /// One sentence for the person who wrote the address.
        package var description: String {
            switch self {
            case .notAnAddress: "not an address of the form https://host[:port][/path]"
            case .unknownScheme: "the scheme is neither https nor http"
            case .userInformation: "an address must not carry a user name or password"
            case .badPort: "the port is not a number from 1 to 65535"
            case .plainHTTP: "plain http is allowed for loopback hosts only; use https"
            }
        }
    }
}
