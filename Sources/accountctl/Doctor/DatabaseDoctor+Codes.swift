import Postgres
import Settings
import SignInWithApple

extension DatabaseDoctor {
    /// Refusals in a row that are no chance.
    private static let suspicious = 3

    /// The client ids that workers found rejected.
    func rejections(on connection: isolated Connection) throws -> [DoctorFinding] {
        try connection.query(
            """
            select client_id, team_id, key_id, refusal, date_trunc('minute', since)::text
            from accountctl.apple_rejections
            order by client_id
            """,
            as: (String, String, String, String, String).self
        ).map { clientID, team, key, refusal, since in
            DoctorFinding(
                .error,
                "apple.rejected",
                "Apple rejects \(clientID) with team \(team) and key \(key) since \(since): \(refusal)",
                why: "No worker calls Apple for it: codes run out, and deletions that hold its credentials wait.",
                todo: "Compare \(settings.apple.section(of: clientID)).team_id and .key_id with the developer account; "
                    + "workers notice by themselves when it works again."
            )
        }
    }

    /// Looks at the newest authorization codes for client ids that cannot be the right ones.
    func codes(on connection: isolated Connection) throws -> [DoctorFinding] {
        let rows = try connection.query(
            """
            with newest as (
                select client_id, state
                from accountctl.authorization_codes
                where client_id is not null
                order by id desc
                limit 10000
            )
            select client_id,
                   count(*) filter (where state = 'refused'),
                   count(*) filter (where state = 'exchanged')
            from newest
            group by client_id
            order by client_id
            """,
            as: (String, Int, Int).self
        )
        let ours = settings.apple.identities.map(\.clientID)
        var findings: [DoctorFinding] = []
        for (clientID, refused, exchanged) in rows {
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
            } else if refused >= Self.suspicious, exchanged == 0 {
                findings.append(
                    DoctorFinding(
                        .error,
                        "apple.codes",
                        "Apple refused all \(refused) codes that the app submitted for \(clientID)",
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
