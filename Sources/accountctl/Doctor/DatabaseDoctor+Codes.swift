import AccountLifecycle
import Postgres
import Settings
import SignInWithApple
import Terminal

extension DatabaseDoctor {
    /// Refusals in a row that are no chance.
    private static let suspicious = 3

    /// The client ids that workers found rejected.
    func rejections(on connection: isolated Connection) throws -> [DoctorFinding] {
        try RejectedClient.all(on: connection).map { client in
            DoctorFinding(
                .error,
                "apple.rejected",
                "Apple rejects \(client.clientID) with team \(client.teamID) and key \(client.keyID) "
                    + "since \(Wording.moment(client.since)): \(client.refusal)",
                why: "No worker calls Apple for it: codes run out, and deletions that hold its credentials wait.",
                todo: "Compare \(settings.apple.section(of: client.clientID)).team_id and .key_id with the developer "
                    + "account; workers notice by themselves when it works again."
            )
        }
    }

    /// Looks at the newest authorization codes for client ids that cannot be the right ones.
    func codes(on connection: isolated Connection) throws -> [DoctorFinding] {
        let ours = settings.apple.identities.map(\.clientID)
        var findings: [DoctorFinding] = []
        for codes in try CodeExchange.newest(on: connection) {
            let clientID = codes.clientID
            if settings.apple.isConfigured, !ours.contains(clientID) {
                findings.append(
                    DoctorFinding(
                        .error,
                        "apple.codes",
                        "the app submits codes for \(clientID), which is not configured here",
                        why: "They cannot be exchanged: no credential is held that could be revoked.",
                        todo: "Configured: \(ours.joined(separator: ", ")). Add it, or correct what the app submits."
                    )
                )
            } else if codes.refused >= Self.suspicious, codes.exchanged == 0 {
                findings.append(
                    DoctorFinding(
                        .error,
                        "apple.codes",
                        "Apple refused all \(codes.refused) codes that the app submitted for \(clientID)",
                        why: "A code belongs to the client id it was issued to: usually a Services ID was named for a "
                            + "native sign-in, or a bundle id for one on the web. Nothing is held that could be revoked.",
                        todo: "Submit the bundle id with codes of native sign-ins, the Services ID with the web's."
                    )
                )
            }
        }
        return findings
    }
}
