/// Recognises Apple's relay addresses.
package struct RelayDomains: Sendable, Hashable {
    /// The domains whose addresses are Apple's relay addresses.
    let domains: Set<DomainName>

    /// The relay domains known today, which must never include icloud.com, since that domain also serves ordinary mail.
    package static let standard: [String] = ["privaterelay.appleid.com", "private.icloud.com"]

    /// Creates a list of domains.
    ///
    /// Throws ``DomainInputError`` for invalid domains and for icloud.com.
    package init(_ domains: [String] = Self.standard) throws(DomainInputError) {
        var names: Set<DomainName> = []
        for text in domains {
            let name = try DomainInput.domain(text)
            guard name.description != "icloud.com" else { throw DomainInputError(text, .neverRelay) }
            names.insert(name)
        }
        self.domains = names
    }

    /// Whether an address belongs to the relay: decided by Apple's claim if there is one, otherwise by the exact
    /// domain.
    ///
    /// The SQL function `accountctl.is_relay_address` applies the same rule.
    package func isRelay(_ address: String, appleClaim: Bool?) -> Bool {
        if let appleClaim { return appleClaim }
        // A trailing dot is valid in a DNS name, but not in an address.
        guard let at = address.lastIndex(of: "@"), !address.hasSuffix("."),
            let host = try? DomainName(dotted: String(address[address.index(after: at)...]))
        else { return false }
        return domains.contains(host)
    }
}
