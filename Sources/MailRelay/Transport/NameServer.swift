/// The address and port of a name server.
package struct NameServer: Sendable, Hashable, CustomStringConvertible {
    /// The server's address.
    let address: IPAddress
    /// The server's port, for UDP and TCP alike.
    let port: UInt16

    /// Creates a name server; 53 is the standard port of DNS.
    package init(address: IPAddress, port: UInt16 = 53) {
        self.address = address
        self.port = port
    }

    /// Parses `192.0.2.1`, `192.0.2.1:5353`, `2001:db8::1` or `[2001:db8::1]:5353`; nil for anything else, including
    /// host names.
    package init?(_ text: String) {
        if let address = IPAddress(text) {
            self.init(address: address)
            return
        }
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]), port > 0 else {
            guard text.hasPrefix("["), text.hasSuffix("]") else { return nil }
            guard let address = IPAddress(String(text.dropFirst().dropLast())) else { return nil }
            self.init(address: address)
            return
        }
        var host = String(text[..<colon])
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        if isBracketed { host = String(host.dropFirst().dropLast()) }
        guard let address = IPAddress(host) else { return nil }
        // An IPv6 address needs brackets before a port, since its end would be ambiguous otherwise.
        if case .v6 = address, !isBracketed { return nil }
        self.init(address: address, port: port)
    }

    /// The address and the port, with an IPv6 address in brackets.
    package var description: String {
        switch address {
        case .v4: "\(address):\(port)"
        case .v6: "[\(address)]:\(port)"
        }
    }
}
