/// The parts of a DKIM-Signature header that locate its key, so that nobody has to guess selectors.
package struct DKIMSignatureHeader: Sendable, Hashable {
    /// The signing domain, `d`.
    package let domain: DomainName
    /// The selector, `s`.
    package let selector: String

    /// Parses a header field, with or without its name; nil unless the field has a domain and a selector.
    package init?(_ field: String) {
        var text = Array(field.utf8)
        if let colon = text.firstIndex(of: UInt8(ascii: ":")),
            text[..<colon].trimmed.span.equalsIgnoringCase("dkim-signature")
        {
            text.removeSubrange(...colon)
        }
        guard let list = try? TagList(text), let domain = list.text("d"), let selector = list.text("s"),
            let name = try? DomainName(dotted: domain), (try? DomainName(dotted: selector)) != nil
        else { return nil }
        self.domain = name
        self.selector = selector
    }
}
