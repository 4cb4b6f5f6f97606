/// A sender to be judged: what a mail server knows when mail arrives.
package struct SPFQuery: Sendable, Hashable {
    /// The address of the client.
    package let address: IPAddress
    /// The local part of the sender, "postmaster" when it has none (RFC 7208, 4.3).
    package let localPart: [UInt8]
    /// The domain of the sender; the HELO name for an empty sender (RFC 7208, 2.4).
    package let senderDomain: [UInt8]
    /// What the client called itself.
    package let helo: [UInt8]

    /// Takes an envelope sender apart at its last "@"; without one the whole text is the domain.
    package init(address: IPAddress, mailFrom: String, helo: String) {
        self.address = address
        self.helo = Array(helo.utf8)
        var sender = Array(mailFrom.utf8)
        if sender.first == UInt8(ascii: "<"), sender.last == UInt8(ascii: ">") {
            sender = Array(sender[1..<(sender.count - 1)])
        }
        guard !sender.isEmpty else {
            self.localPart = Array("postmaster".utf8)
            self.senderDomain = self.helo
            return
        }
        guard let at = sender.lastIndex(of: UInt8(ascii: "@")) else {
            self.localPart = Array("postmaster".utf8)
            self.senderDomain = sender
            return
        }
        self.localPart = at == 0 ? Array("postmaster".utf8) : Array(sender[..<at])
        self.senderDomain = Array(sender[(at + 1)...])
    }

    /// A sender at a domain.
    package init(address: IPAddress, domain: DomainName, helo: DomainName) {
        self.init(address: address, mailFrom: "postmaster@\(domain)", helo: helo.description)
    }
}
