import Postgres
import SignInWithApple

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Proves that refusals are about the people: if a client id works for nobody, the client id itself is the suspect.
///
/// After an app moved to another team, a Services ID was regrouped, or in an incident at Apple, every credential of a
/// client id is refused. That one of them was valid yesterday proves nothing then: another person's credential must be
/// valid **now**.
struct RefusalProof {
    /// How many other credentials are asked about before a client id counts as working for nobody.
    private static let witnesses = 3

    let services: CredentialServices

    /// The time after which a proof must be made: the beginning of the round, by the database's clock.
    func beginning() async throws -> Date {
        try await services.pool.withConnection { try $0.one("select clock_timestamp()", as: Date.self) }
    }

    /// Whether a client id has worked, since a given time, for somebody other than those it was refused for.
    func works(_ clientID: String, since moment: Date, besides refused: Set<UUID>) async throws -> Bool {
        var asked = Array(refused)
        let (others, living) = try await services.pool.withConnection { [asked] connection in
            try connection.one(
                """
                select
                    exists (
                        select
                        from accountctl.apple_credentials
                        where client_id = \(clientID) and user_id <> all (\(asked))
                    ),
                    exists (
                        select
                        from accountctl.apple_credentials
                        where client_id = \(clientID)
                          and user_id <> all (\(asked))
                          and last_live_at >= \(moment)
                    )
                """,
                as: (Bool, Bool).self
            )
        }
        if living { return true }
        guard others else {
            // There is no other credential, so Apple's acceptance of the client itself has to serve as the proof.
            guard refused.count == 1, let client = services.apple[clientID] else { return false }
            if case .good = try await client.selfTest() { return true }
            return false
        }
        for _ in 0..<Self.witnesses {
            guard let witness = try await takeWitness(clientID, besides: asked) else { return false }
            switch try await CredentialQuestion(services: services).ask(witness) {
            case .lives: return true
            case .unavailable: return false
            // It may be due again before others were asked about; nobody is asked about twice.
            case .refused, .doubtful, .unreadable: asked.append(witness.user)
            }
        }
        return false
    }

    /// The credential whose check is due next; its daily check is brought forward, not made twice.
    private func takeWitness(_ clientID: String, besides asked: [UUID]) async throws -> HeldCredential? {
        try await services.pool.withConnection { connection in
            try HeldCredential.take(
                choosing: """
                    select id
                    from accountctl.apple_credentials
                    where client_id = \(clientID) and user_id <> all (\(asked))
                    order by check_after
                    limit 1
                    for update skip locked
                    """,
                on: connection
            )
        }.first
    }
}
