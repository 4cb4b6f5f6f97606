import AccountLifecycle
import Postgres
import Settings
import SignInWithApple
import Terminal

extension DatabaseDoctor {
    /// The threshold for refusals in a row, and for accounts that submit an id: fewer may be chance or one person.
    private static let suspicious = 3

    /// The fraction of accounts, one in this many, that must submit an unknown client id before the app itself is at
    /// fault.
    private static let share = 10

    /// How many client ids are named, since anybody may submit any number of them.
    private static let named = 5

    /// The client ids that Apple rejected for a worker: an error for a key that is configured here; otherwise a notice,
    /// since the key may be an old one.
    func rejections(on connection: isolated Connection) throws -> [DoctorFinding] {
        try RejectedClient.all(on: connection).map { client in
            let isOurs = settings.apple.identities.contains {
                ($0.clientID, $0.teamID, $0.keyID) == (client.clientID, client.teamID, client.keyID)
            }
            guard isOurs else {
                return DoctorFinding(
                    .notice,
                    "apple.rejected",
                    "Apple rejected \(client.clientID) with team \(client.teamID) and key \(client.keyID), which are "
                        + "not the ones configured here, since \(Wording.moment(client.since)): \(client.refusal)",
                    why:
                        "It concerns workers that still use this key. If there are none, the finding disappears within "
                        + "two days.",
                    todo:
                        "Restart workers that were started with it; accountctl apple test checks the key configured "
                        + "here."
                )
            }
            return DoctorFinding(
                .error,
                "apple.rejected",
                "Apple rejects \(client.clientID) with team \(client.teamID) and key \(client.keyID) "
                    + "since \(Wording.moment(client.since)): \(client.refusal)",
                why: "No worker calls Apple for it: authorization codes expire, and deletions of accounts with its "
                    + "credentials wait.",
                todo: "Compare \(settings.apple.section(of: client.clientID)).team_id, .key_id and the client id with "
                    + "the developer account. Workers notice when Apple accepts it again; a correction here takes "
                    + "effect once they are restarted." + DoctorFinding.ofNewKey
            )
        }
    }

    /// Checks the newest authorization codes for client ids that cannot be the right ones.
    ///
    /// Codes of only a few accounts never count as a fault of the deployment.
    func codes(on connection: isolated Connection) throws -> [DoctorFinding] {
        let ours = settings.apple.identities.map(\.clientID)
        let (newest, nameless, accounts) = try CodeExchange.newest(
            only: ours.count == 1 ? ours.first : nil,
            on: connection
        )
        let unknown = settings.apple.isConfigured ? newest.filter { !ours.contains($0.clientID) } : []
        // Those that most accounts submitted come first.
        let isOfApp = { (part: Int) in part >= Self.suspicious && part * Self.share >= accounts }
        let ofApp = unknown.prefix(Self.named).prefix { isOfApp($0.accounts) }
        var findings = ofApp.map { codes in
            DoctorFinding(
                .error,
                "apple.codes",
                "the app submits codes for \(codes.clientID), which is not configured here",
                why: "They cannot be exchanged: no credential is held that could be revoked.",
                todo: "Configured: \(ours.joined(separator: ", ")). Correct what the app submits, or, if the client id "
                    + "is your own, add it."
            )
        }
        if ours.count > 1, isOfApp(nameless) {
            findings.append(
                DoctorFinding(
                    .error,
                    "apple.codes",
                    "the app submits codes without a client id, and several are configured here",
                    why: "It is unknown which one they belong to: they are not exchanged, and no credential is held "
                        + "that could be revoked.",
                    todo: "Submit client_id with each code, the one that the sign-in was for: "
                        + "\(ours.joined(separator: ", "))."
                )
            )
        }
        let single = unknown.dropFirst(ofApp.count).map(\.clientID)
        if !single.isEmpty {
            findings.append(
                DoctorFinding(
                    .notice,
                    "apple.codes",
                    "single accounts submitted codes for "
                        + Wording.count(single.count, "client id that is", "client ids that are")
                        + " not configured here: " + Wording.list(single, atMost: Self.named),
                    why: "Any signed-in user can submit any client id. If one is your own, its codes cannot be "
                        + "exchanged.",
                    todo: "If one is your own, correct what the app submits, or add it; otherwise, nothing."
                )
            )
        }
        let refused = newest.filter {
            $0.refused >= Self.suspicious && $0.exchanged == 0
                && (!settings.apple.isConfigured || ours.contains($0.clientID))
        }
        findings += refused.map { codes in
            DoctorFinding(
                codes.accounts >= Self.suspicious ? .error : .notice,
                "apple.codes",
                "Apple refused all \(codes.refused) codes that \(Wording.count(codes.accounts, "account")) submitted for "
                    + codes.clientID,
                why: "A code belongs to the client id it was issued to: usually a Services ID was named for a native "
                    + "sign-in, or a bundle id for one on the web."
                    + (codes.isHeld ? "" : " Nothing is held for it that could be revoked."),
                todo: "Submit the bundle id with codes of native sign-ins, the Services ID with the web's, and with "
                    + "these their redirect_uri. The worker's log has Apple's answer to each."
            )
        }
        return findings
    }
}
