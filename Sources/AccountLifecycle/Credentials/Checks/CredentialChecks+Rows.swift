import Postgres

/// The rows of credentials that a sweep takes, reschedules and finds gone.
extension CredentialChecks {
    /// The most credentials of one sweep; sweeps run every minute, and a million accounts need 700 a minute.
    ///
    /// At a fifth of a second per answer, four concurrent calls make 1200 in that time.
    private static let batch = 1000
    /// The most credentials that one statement reschedules for a pause that Apple asked for.
    ///
    /// After an outage of workers all may be due; the next sweeps reschedule the rest.
    private static let putOffAtOnce = 50_000

    func takeDue() async throws -> [HeldCredential] {
        try await services.pool.withConnection { connection in
            try HeldCredential.take(
                choosing: """
                    select id
                    from accountctl.apple_credentials
                    where check_after <= now()
                    order by check_after
                    limit \(Self.batch)
                    for update skip locked
                    """,
                on: connection
            )
        }
    }

    /// Reschedules credentials without an answer: sooner than tomorrow, and after the pause that Apple asked for, which
    /// counts up to an hour.
    func putOff(_ credentials: ArraySlice<HeldCredential>, atLeast pause: Duration) async throws {
        guard !credentials.isEmpty else { return }
        try await putOff(where: "id = any (\(credentials.map(\.id)))", atLeast: pause)
    }

    /// Reschedules credentials of a client id that would fall due before the pause is over.
    func putOffNext(of clientID: String, atLeast pause: Duration) async throws {
        try await putOff(
            where: """
                id in (
                    select id
                    from accountctl.apple_credentials
                    where client_id = \(clientID)
                      and check_after < now() + \(Self.seconds(pause)) * interval '1 second'
                    order by check_after
                    limit \(Self.putOffAtOnce)
                    for update skip locked
                )
                """,
            atLeast: pause
        )
    }

    private func putOff(where condition: Statement, atLeast pause: Duration) async throws {
        _ = try await services.pool.withConnection { connection in
            try connection.execute(
                """
                update accountctl.apple_credentials
                set check_after = now() + greatest(\(Self.seconds(pause)), 1800) * (1 + random()) * interval '1 second'
                where \(condition)
                """
            )
        }
    }

    private static func seconds(_ pause: Duration) -> Double { min(pause, .seconds(3600)) / .seconds(1) }

    /// Records the finding as an event, which is handled like one of Apple's.
    func tellGone(_ credential: HeldCredential) async throws {
        _ = try await services.pool.withTransaction { connection in
            // Not if the credential was replaced while Apple was asked: the person has come back.
            let event = try connection.first(
                """
                insert into accountctl.credential_events (source, kind, client_id, user_id, identity_id)
                select 'check', 'grant_gone', c.client_id, c.user_id, i.id
                from accountctl.apple_credentials as c
                left join auth.identities as i
                    on i.provider = 'apple' and i.provider_id = c.apple_sub and i.user_id = c.user_id
                where c.id = \(credential.id)
                  and c.sealed_token = \(credential.sealed)
                returning id
                """,
                as: Int64.self
            )
            guard let event else { return }
            try CredentialJobs.enqueueHandling(of: event, on: connection)
        }
    }
}
