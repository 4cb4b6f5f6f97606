/// A sender to be judged: what a mail server knows when mail arrives.
package struct SPFQuery: Sendable, Hashable {
    /// The address of the client.
    package let address: IPAddress
    /// The sender and the HELO name, in one piece.
    private let text: [UInt8]
    private let localPartRange: Range<Int>
    private let senderDomainRange: Range<Int>
    private let heloRange: Range<Int>

    /// The local part of the sender, "postmaster" when it has none (RFC 7208, 4.3).
    package var localPart: ArraySlice<UInt8> {
        localPartRange.isEmpty ? Array("postmaster".utf8)[...] : text[localPartRange]
    }
    /// The domain of the sender; the HELO name for an empty sender (RFC 7208, 2.4).
    package var senderDomain: ArraySlice<UInt8> { text[senderDomainRange] }
    /// What the client called itself.
    package var helo: ArraySlice<UInt8> { text[heloRange] }

    /// Takes an envelope sender apart at its last "@"; without one the whole text is the domain.
    package init(address: IPAddress, mailFrom: String, helo: String) {
        var text: [UInt8] = []
        text.reserveCapacity(mailFrom.utf8.count + helo.utf8.count)
        text.append(bytes: mailFrom.utf8)
        var sender = text.indices
        if text.first == UInt8(ascii: "<"), text.last == UInt8(ascii: ">") { sender = 1..<(text.count - 1) }
        let at = text[sender].lastIndex(of: UInt8(ascii: "@"))
        heloRange = text.count..<(text.count + helo.utf8.count)
        text.append(bytes: helo.utf8)
        localPartRange = sender.lowerBound..<(at ?? sender.lowerBound)
        senderDomainRange = sender.isEmpty ? heloRange : (at.map { $0 + 1 } ?? sender.lowerBound)..<sender.upperBound
        self.address = address
        self.text = text
    }

    /// A sender at a domain.
    package init(address: IPAddress, domain: DomainName, helo: DomainName) {
        self.address = address
        text = domain.dottedBytes + helo.dottedBytes
        localPartRange = 0..<0
        senderDomainRange = 0..<max(0, domain.wire.count - 1)
        heloRange = senderDomainRange.upperBound..<text.count
    }
}
