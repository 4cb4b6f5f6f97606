import SignInWithApple

/// A team's key at Apple, and the client ids that use it.
///
/// The section `[apple]` defines one app; each section `[apple.app.NAME]` defines another, with a team and key of its
/// own.
package struct AppleApp: Sendable {
    /// The name of the section; nil for the plain `[apple]`.
    let name: String?
    /// The identities towards Apple, one for each client id.
    let identities: [AppleClientIdentity]

    /// The section of the settings: `apple` or `apple.app.NAME`.
    package var section: String { Self.section(name) }

    /// The names of the sections for other apps.
    static func names(_ reader: SettingsReader) -> [String] {
        reader.names(under: "apple.app", keys: ["team_id", "key_id", "private_key_file", "private_key", "client_ids"])
    }

    /// Reads one app; nil if nothing is set, or if a setting that Apple requires is missing, which is reported.
    init?(_ reader: inout SettingsReader, name: String?) {
        let section = Self.section(name)
        let teamID = reader.optional("\(section).team_id", .code(length: 10), "The team id of the developer account.")
        let keyID = reader.optional("\(section).key_id", .code(length: 10), "The id of the Sign in with Apple key.")
        let privateKey = reader.secret("\(section).private_key", "The .p8 file of that key.")
        let clientIDs = reader.read(
            "\(section).client_ids",
            .list(of: .text),
            default: [],
            "Bundle ids and Services IDs with which people sign in."
        )
        let parts: [(String, Bool)] = [
            ("team_id", teamID != nil), ("key_id", keyID != nil), ("private_key_file", privateKey != nil),
            ("client_ids", !clientIDs.isEmpty),
        ]
        // The plain section may set nothing but the policy.
        guard name != nil || parts.contains(where: \.1) else { return nil }
        for (part, isThere) in parts where !isThere && !reader.isSet("\(section).\(part)") {
            reader.report(
                "\(section).\(part)",
                "missing: Apple needs the team id, the key id, the key and at least one client id"
            )
        }
        guard let teamID, let keyID, let privateKey else { return nil }
        let key: ApplePrivateKey
        do {
            key = try ApplePrivateKey(parsing: privateKey)
        } catch {
            let isNamed = reader.isSet("\(section).private_key_file")
            reader.report("\(section).private_key" + (isNamed ? "_file" : ""), "\(error)")
            return nil
        }
        if let other = Self.keyID(inNameOf: reader.file(ofSecret: "\(section).private_key")), other != keyID {
            reader.report(
                "\(section).key_id",
                "is \(keyID), and \(section).private_key_file is the key \(other) by its name: Apple accepts a key "
                    + "only under its own id",
                stopsNothing: true
            )
        }
        self.name = name
        identities = clientIDs.compactMap { clientID in
            do {
                return try AppleClientIdentity(clientID: clientID, teamID: teamID, keyID: keyID, key: key)
            } catch {
                reader.report("\(section).client_ids", "\(clientID): \(error)")
                return nil
            }
        }
    }

    /// The key id in a file name as Apple issues it, `AuthKey_<key id>.p8`; nil for another name.
    private static func keyID(inNameOf path: String?) -> String? {
        guard let name = path?.split(separator: "/").last, name.hasPrefix("AuthKey_"), name.hasSuffix(".p8") else {
            return nil
        }
        let id = name.dropFirst("AuthKey_".count).dropLast(".p8".count)
        return id.utf8.count == 10 ? String(id) : nil
    }

    private static func section(_ name: String?) -> String { name.map { "apple.app.\($0)" } ?? "apple" }
}

extension [AppleApp] {
    /// Reports client ids that occur in more than one app, since it would be ambiguous which key to use.
    func reportSharedClientIDs(to reader: inout SettingsReader) {
        var owners: [String: String] = [:]
        for app in self {
            for identity in app.identities {
                if let other = owners[identity.clientID] {
                    reader.reportConflict(
                        "\(app.section).client_ids",
                        "\(identity.clientID) is also in \(other).client_ids"
                    )
                } else {
                    owners[identity.clientID] = app.section
                }
            }
        }
    }
}
