/// A name server to ask, by address and port.
package struct NameServer: Sendable, Hashable, CustomStringConvertible {
    /// Where it is.
    let address: IPAddress
    /// The server's port, for UDP and TCP alike.
    let port: UInt16

    /// A server; 53 is the port of DNS.
    package init(address: IPAddress, port: UInt16 = 53) {
        self.address = address
        self.port = port
    }

    /// Reads `192.0.2.1`, `192.0.2.1:5353`, `2001:db8::1` or `[2001:db8::1]:5353`; nil for anything else, host names
    /// included.
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
        // An IPv6 address needs its brackets before a port, or nobody knows where it ends.
        if case .v6 = address, !isBracketed { return nil }
        self.init(address: address, port: port)
    }

    /// Address and port, the address in brackets where it needs them.
    package var description: String {
        switch address {
        case .v4: "\(address):\(port)"
        case .v6: "[\(address)]:\(port)"
        }
    }
}
