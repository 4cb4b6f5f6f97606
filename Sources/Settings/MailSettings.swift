import MailRelay

/// Mail to Apple's private relay.
package struct MailSettings: Sendable {
    /// The domains whose addresses are relay addresses where Apple's own claim is missing.
    package let relayDomains: [String]
    /// The recursive name servers to ask, `host:port`; none stands for the system's.
    package let resolvers: [String]

    init(_ reader: inout SettingsReader) {
        relayDomains = reader.read(
            "mail.relay_domains",
            .list(of: .text),
            default: RelayDomains.standard,
            "Domains whose addresses are relay addresses. Never icloud.com."
        )
        resolvers = reader.read(
            "mail.resolvers",
            .list(of: .nameServer),
            default: [],
            "Recursive name servers for the mail checks, in order. Default: those of the system."
        )
        if relayDomains.contains("icloud.com") {
            reader.report(
                "mail.relay_domains",
                "icloud.com holds ordinary addresses: they would be taken for relay addresses"
            )
        }
    }
}

extension SettingForm where Value == String {
    /// The address of a name server, with or without a port.
    fileprivate static var nameServer: Self {
        .init(expected: "an address such as 127.0.0.1, 127.0.0.1:5353 or [::1]:53") { text in
            NameServer(text) == nil ? nil : text
        }
    }
}
