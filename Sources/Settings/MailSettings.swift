/// Mail to Apple's private relay.
package struct MailSettings: Sendable {
    package let relayDomains: [String]
    package let checkInterval: Duration

    init(_ reader: inout SettingsReader) {
        relayDomains = reader.read(
            "mail.relay_domains",
            .list(of: .text),
            default: ["privaterelay.appleid.com"],
            "Domains whose addresses are relay addresses. Never icloud.com."
        )
        checkInterval = reader.read(
            "mail.check_interval",
            .duration(.seconds(60) ... .days(7)),
            default: .seconds(3600),
            "How often the mail streams are checked."
        )
        if relayDomains.contains("icloud.com") {
            reader.report(
                "mail.relay_domains",
                "icloud.com holds ordinary addresses: they would be taken for relay addresses"
            )
        }
    }
}
