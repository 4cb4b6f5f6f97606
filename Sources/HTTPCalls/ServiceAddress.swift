/// Where a service lives: scheme, host, port and an optional path in front of all its paths.
///
/// Plain `http` is taken for loopback hosts only, unless the caller says otherwise: a token must not cross a network
/// in the clear because of a typing mistake.
package struct ServiceAddress: Sendable, Hashable, CustomStringConvertible {
    /// `https` or `http`.
    package let scheme: String
    /// Lower case; an IPv6 address keeps its brackets.
    package let host: String
    /// The port as written, nil for the scheme's own.
    package let port: Int?
    /// Empty, or a path that starts with a slash and ends without one.
    package let pathPrefix: String

    /// Reads `https://host[:port][/path]`.
    ///
    /// - Parameters:
    ///   - text: The address. User information, a query or a fragment is refused.
    ///   - allowPlainHTTP: Whether `http` is taken for hosts other than loopback.
    /// - Throws: ``Problem`` with what is wrong.
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

    /// Whether the host is this machine, told by its name alone.
    package var isLoopback: Bool {
        if host == "localhost" || host == "[::1]" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }

    /// Host and port: what concurrency is limited by.
    var hostAndPort: String {
        port.map { "\(host):\($0)" } ?? host
    }

    /// Scheme, host, port and path prefix, as configured.
    package var description: String {
        "\(scheme)://\(hostAndPort)\(pathPrefix)"
    }

    /// The URL of a path that is percent-encoded already and starts with a slash.
    package func url(path: String) -> String {
        description + path
    }
}

extension ServiceAddress {
    /// What is wrong with an address.
    package enum Problem: Error, Sendable, Hashable, CustomStringConvertible {
        /// Not `https://host[:port][/path]`.
        case notAnAddress
        /// Neither `https` nor `http`.
        case unknownScheme
        /// A name or password in front of the host.
        case userInformation
        /// Not a port number.
        case badPort
        /// `http` to a host that is not loopback.
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
