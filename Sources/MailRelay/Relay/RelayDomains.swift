/// Tells relay addresses from others.
package struct RelayDomains: Sendable, Hashable {
    /// The domains whose addresses are Apple's relay addresses.
    let domains: Set<DomainName>

    /// The domains known today; bare icloud.com is never among them, since people have ordinary mail there.
    package static let standard: [String] = ["privaterelay.appleid.com", "private.icloud.com"]

    /// A list of domains.
    ///
    /// Throws ``DomainInputError`` for entries that are no domain and for icloud.com.
    package init(_ domains: [String] = Self.standard) throws(DomainInputError) {
        var names: Set<DomainName> = []
        for text in domains {
            let name = try DomainInput.domain(text)
            guard name.description != "icloud.com" else { throw DomainInputError(text, .neverRelay) }
            names.insert(name)
        }
        self.domains = names
    }

    /// Whether an address belongs to the relay: by Apple's own claim where there is one, by its exact domain otherwise.
    ///
    /// The same rule as `accountctl.is_relay_address`.
    package func isRelay(_ address: String, appleClaim: Bool?) -> Bool {
        if let appleClaim { return appleClaim }
        // A dot at the end is none of an address, other than of a name in DNS.
        guard let at = address.lastIndex(of: "@"), !address.hasSuffix("."),
            let host = try? DomainName(dotted: String(address[address.index(after: at)...]))
        else { return false }
        return domains.contains(host)
    }
}
