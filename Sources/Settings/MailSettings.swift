import MailRelay

/// The settings for mail to Apple's private relay.
package struct MailSettings: Sendable {
    /// The domains whose addresses count as relay addresses if Apple's own claim is missing.
    package let relayDomains: [String]
    /// The recursive name servers to query, as `host:port`; empty means the system's.
    package let resolvers: [String]

    init(_ reader: inout SettingsReader) {
        let domains = reader.read(
            "mail.relay_domains",
            .list(of: .domain),
            default: RelayDomains.standard,
            "Domains whose addresses are relay addresses. Never icloud.com."
        )
        relayDomains = domains.filter { $0 != "icloud.com" }
        resolvers = reader.read(
            "mail.resolvers",
            .list(of: .nameServer),
            default: [],
            "Recursive name servers for the mail checks, in order. Default: those of the system."
        )
        if relayDomains != domains {
            reader.report(
                "mail.relay_domains",
                "icloud.com holds ordinary addresses: they would be taken for relay addresses"
            )
        }
    }
}

extension SettingForm where Value == String {
    /// A domain in lower case, without a trailing dot.
    fileprivate static var domain: Self {
        .init(expected: "a domain such as private.icloud.com") { (try? DomainInput.domain($0))?.description }
    }

    /// The address of a name server, with or without a port.
    fileprivate static var nameServer: Self {
        .init(expected: "an address such as 127.0.0.1, 127.0.0.1:5353 or [::1]:53") { text in
            NameServer(text) == nil ? nil : text
        }
    }
}
