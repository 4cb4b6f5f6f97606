import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What Apple says about an account's credentials after a report from a device.
struct CredentialConfirmation: Sendable, Hashable {
    /// The result of the check.
    enum Finding: Sendable, Hashable {
        case lives
        /// Refused, while the same client id works for others.
        case gone
        /// Refused without proof that the client id works at all; or an answer that may be our own fault.
        case inconclusive
        case nothingHeld
        /// Apple has answered for a device's report within the last day, and must not be asked again so soon.
        case askedBefore
        /// Apple gave no answer, or could not be asked.
        case unavailable(after: Duration?)
    }

    let finding: Finding
    /// The client ids whose grants are gone.
    var gone: Set<String> = []
}

extension CredentialChecks {
    /// Checks an account's credentials now, to confirm a device's report.
    ///
    /// An answer that is newer than the report is used again. A question counts as the daily check of its credential,
    /// and reports make Apple be asked at most once a day about each credential, since an app can send any number of
    /// them.
    ///
    /// - Parameters:
    ///   - user: The account.
    ///   - clientID: The client id in the report; nil for every one that is held.
    ///   - happenedAt: When the device saw the change.
    /// - Returns: The finding.
    /// - Throws: ``PostgresError``; `CancellationError`.
    func confirm(user: UUID, clientID: String?, happenedAt: Date) async throws -> CredentialConfirmation {
        let held = try await take(user, clientID, happenedAt)
        guard !held.isEmpty else { return CredentialConfirmation(finding: .nothingHeld) }
        var findings: [CredentialConfirmation.Finding] = []
        var gone: Set<String> = []
        for (credential, answer) in held {
            let finding: CredentialConfirmation.Finding
            if let answer { finding = answer } else { finding = try await ask(credential) }
            findings.append(finding)
            if finding == .gone { gone.insert(credential.clientID) }
        }
        guard gone.isEmpty else { return CredentialConfirmation(finding: .gone, gone: gone) }
        let silence = findings.first { if case .unavailable = $0 { true } else { false } }
        let worst = [.askedBefore, .inconclusive].first { findings.contains($0) }
        return CredentialConfirmation(finding: silence ?? worst ?? .lives)
    }

    /// Asks Apple about one credential because of a device's report, and records that Apple answered.
    ///
    /// That a grant is gone is recorded together with the reactions: if the database refuses these, they are retried
    /// with a new answer.
    private func ask(_ credential: HeldCredential) async throws -> CredentialConfirmation.Finding {
        let question = CredentialQuestion(services: services)
        let proof = RefusalProof(services: services)
        let beginning = try await proof.beginning()
        switch try await question.ask(credential) {
        case .lives:
            try await question.noteReport(credential)
            return .lives
        case .refused:
            if try await proof.works(credential.clientID, since: beginning, besides: [credential.user]) { return .gone }
            try await question.noteReport(credential)
            return .inconclusive
        case .doubtful:
            try await question.noteReport(credential)
            return .inconclusive
        case .unreadable: return .unavailable(after: nil)
        case .unavailable(let pause): return .unavailable(after: pause)
        }
    }

    /// The credentials that a report is about, with the finding for those about which Apple is not to be asked; the
    /// daily check of the others is taken.
    private func take(
        _ user: UUID,
        _ clientID: String?,
        _ happenedAt: Date
    ) async throws -> [(HeldCredential, CredentialConfirmation.Finding?)] {
        try await services.pool.withConnection { connection in
            try connection.query(
                """
                with held as materialized (
                    select
                        c.id, c.user_id, c.client_id, c.sealed_token, c.team_id,
                        coalesce(c.last_live_at >= \(happenedAt), false) as lives,
                        coalesce(
                            c.report_answered_at > greatest(c.obtained_at, now() - interval '24 hours'),
                            false
                        ) as was_asked
                    from accountctl.apple_credentials as c
                    where c.user_id = \(user)
                      and c.client_id = coalesce(\(clientID), c.client_id)
                ),
                taken as (
                    update accountctl.apple_credentials as c
                    set check_after = greatest(c.check_after, now() + interval '24 hours')
                    from held as h
                    where c.id = h.id
                      and not h.lives
                      and not h.was_asked
                )
                select \(HeldCredential.columns), lives, was_asked
                from held
                order by id
                """,
                as: (Int64, UUID, String, String, String?, Bool, Bool).self
            )
        }.map { id, user, clientID, sealed, teamID, lives, wasAsked in
            (HeldCredential((id, user, clientID, sealed, teamID)), lives ? .lives : wasAsked ? .askedBefore : nil)
        }
    }
}
