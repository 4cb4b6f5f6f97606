/// A sender to evaluate: what a mail server knows when mail arrives.
package struct SPFQuery: Sendable, Hashable {
    /// The client's address.
    let address: IPAddress
    /// The envelope sender and the HELO name as given, since few policies need more than their domain.
    private let mailFrom: String
    private let heloName: String
    /// The range of the local part in the sender's bytes; empty if there is none.
    private let localPartPlace: Range<Int>
    /// The range of the domain in the sender's bytes; nil for an empty sender.
    private let domainPlace: Range<Int>?

    /// The local part of the sender; "postmaster" if it has none (RFC 7208, 4.3).
    var localPart: ArraySlice<UInt8> {
        localPartPlace.isEmpty ? Array("postmaster".utf8)[...] : Array(mailFrom.utf8)[localPartPlace]
    }
    /// The domain of the sender; for an empty sender, the HELO name (RFC 7208, 2.4).
    var senderDomain: ArraySlice<UInt8> { domainPlace.map { Array(mailFrom.utf8)[$0] } ?? helo }
    /// The local part and the domain, joined by "@".
    var sender: ArraySlice<UInt8> { localPart + [UInt8(ascii: "@")] + senderDomain }
    /// The name that the client gave in HELO.
    var helo: ArraySlice<UInt8> { Array(heloName.utf8)[...] }

    /// Splits an envelope sender at its last "@"; without one, the whole text is the domain.
    package init(address: IPAddress, mailFrom: String, helo: String) {
        (localPartPlace, domainPlace) = mailFrom.withBytes { Self.places(in: $0) }
        self.address = address
        self.mailFrom = mailFrom
        heloName = helo
    }

    /// Creates a query for a sender at a domain; both names must be representable as text.
    package init(address: IPAddress, domain: DomainName, helo: DomainName) {
        self.address = address
        mailFrom = String(decoding: domain.dottedBytes, as: UTF8.self)
        heloName = String(decoding: helo.dottedBytes, as: UTF8.self)
        localPartPlace = 0..<0
        domainPlace = 0..<mailFrom.utf8.count
    }

    /// The ranges of local part and domain in a sender, which may be enclosed in angle brackets.
    private static func places(in sender: Span<UInt8>) -> (localPart: Range<Int>, domain: Range<Int>?) {
        var start = 0
        var end = sender.count
        if end > 1, sender[0] == UInt8(ascii: "<"), sender[end - 1] == UInt8(ascii: ">") {
            start = 1
            end -= 1
        }
        guard start < end else { return (0..<0, nil) }
        var domain = end
        while domain > start, sender[domain - 1] != UInt8(ascii: "@") { domain -= 1 }
        return (start..<max(start, domain - 1), domain..<end)
    }

    /// The sender's domain as a name that can have a policy: at least two labels and no address literal (RFC 7208,
    /// 4.3); otherwise nil.
    var usableDomain: DomainName? {
        guard let domainPlace else { return heloName.withBytes { Self.usableDomain($0) } }
        return mailFrom.withBytes { Self.usableDomain($0.extracting(domainPlace)) }
    }

    private static func usableDomain(_ text: Span<UInt8>) -> DomainName? {
        guard !text.isEmpty, text[0] != UInt8(ascii: "["), let name = try? DomainName(dotted: text) else { return nil }
        return name.labelCount > 1 ? name : nil
    }
}
