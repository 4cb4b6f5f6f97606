import Logging
import Metrics
import Postgres
import SignInWithApple

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Asks Apple whether held credentials live: each at most once a day, to make up for notifications that were lost.
struct CredentialChecks: Sendable {
    /// What a sweep did.
    struct Tally: Codable, Sendable, Hashable {
        var live = 0
        /// Refused, and believed.
        var gone = 0
        /// Refused, and not shown to be about the person; or an answer that may be our own fault.
        var inconclusive = 0
        /// Refused in such numbers that nobody was believed to be gone.
        var heldBack = 0
        /// Cannot be opened here.
        var unreadable = 0
        var postponed = 0
    }

    /// The most credentials of one sweep: sweeps come every minute, a million accounts need 700 a minute.
    ///
    /// With a fifth of a second an answer, four questions at once ask 1200 in that time.
    private static let batch = 1000
    /// So many are asked about before it is judged what their answers mean.
    private static let round = 200

    let services: CredentialServices
    private let counters: [(counter: Counter, count: @Sendable (Tally) -> Int)]

    /// Makes a checker, and every series of its metric at once: an alarm sees no increase in one that comes with its
    /// first count.
    init(_ services: CredentialServices, factory: any MetricsFactory = MetricsSystem.factory) {
        self.services = services
        let counts: [(String, @Sendable (Tally) -> Int)] = [
            ("live", { $0.live }), ("gone", { $0.gone }), ("inconclusive", { $0.inconclusive }),
            ("held_back", { $0.heldBack }), ("unreadable", { $0.unreadable }), ("postponed", { $0.postponed }),
        ]
        counters = counts.map { outcome, count in
            let dimensions = [("outcome", outcome)]
            return (Counter(label: "apple_credential_checks_total", dimensions: dimensions, factory: factory), count)
        }
    }

    /// Checks the credentials whose day is over.
    ///
    /// Each is put off by a day **before** Apple is asked: a process that dies in between costs one check, never two in
    /// a day.
    ///
    /// - Returns: What was found.
    /// - Throws: ``PostgresError``; `CancellationError`.
    func sweep() async throws -> Tally {
        var tally = Tally()
        let due = Dictionary(grouping: try await takeDue(), by: \.clientID)
        for (clientID, credentials) in due.sorted(by: { $0.key < $1.key }) {
            // Nobody can be asked: their day is over tomorrow, but for one, with which the client id is tested by then.
            // Back within the hour, again and again, those of one broken key would be all that a sweep takes, and nobody
            // of another team had a turn.
            guard services.apple[clientID] != nil, !services.apple.isPaused(clientID) else {
                try await putOff(credentials.prefix(1), atLeast: .zero)
                tally.postponed += credentials.count
                continue
            }
            var waiting = credentials[...]
            while !waiting.isEmpty {
                let silence = try await sweep(waiting.prefix(Self.round), of: clientID, &tally)
                waiting = waiting.dropFirst(Self.round)
                guard let silence else { continue }
                // The rest of this client id waits for the breaker, or for Apple.
                try await putOff(waiting, atLeast: silence)
                tally.postponed += waiting.count
                break
            }
        }
        for (counter, count) in counters { counter.increment(by: count(tally)) }
        return tally
    }

    // MARK: - One round

    /// Asks about some credentials of one client id, and judges the answers together.
    ///
    /// - Returns: How long Apple is not to be asked for this client id, zero where nobody said; nil where it answers.
    private func sweep(
        _ credentials: ArraySlice<HeldCredential>,
        of clientID: String,
        _ tally: inout Tally
    ) async throws -> Duration? {
        let proof = RefusalProof(services: services)
        let beginning = try await proof.beginning()
        let (answers, unasked) = try await ask(credentials)
        var refused: [HeldCredential] = []
        var later = Array(unasked)
        var silence: Duration? = unasked.isEmpty ? nil : .zero
        for (credential, answer) in answers {
            switch answer {
            case .lives: tally.live += 1
            case .refused: refused.append(credential)
            case .doubtful: tally.inconclusive += 1
            case .unreadable:
                later.append(credential)
                tally.unreadable += 1
            case .unavailable(let asked):
                later.append(credential)
                tally.postponed += 1
                silence = max(silence ?? .zero, asked ?? .zero)
            }
        }
        tally.postponed += unasked.count
        try await putOff(later[...], atLeast: silence ?? .zero)
        guard !refused.isEmpty else { return silence }
        guard try await proof.works(clientID, since: beginning, besides: Set(refused.map(\.user))) else {
            tally.inconclusive += refused.count
            return silence
        }
        let answered = refused.count + answers.count { $0.answer == .lives }
        guard try await !isMass(refused.count, of: answered, clientID) else {
            tally.heldBack += refused.count
            return silence
        }
        for credential in refused { try await tellGone(credential) }
        tally.gone += refused.count
        return silence
    }

    private func isMass(_ refused: Int, of answered: Int, _ clientID: String) async throws -> Bool {
        let brake = try await services.pool.withConnection { connection in
            try RefusalBrake.read(clientID, refused: refused, answered: answered, on: connection)
        }
        guard brake.holds else { return false }
        services.logger.error(
            "Apple refuses credentials in a mass; nobody was signed out and nothing was forgotten",
            metadata: [
                "client_id": "\(clientID)", "refused": "\(refused)", "answered": "\(answered)",
                "gone_within_a_day": "\(brake.goneToday)",
            ]
        )
        return true
    }

    private typealias Answered = (credential: HeldCredential, answer: CredentialQuestion.Answer)

    /// Asks side by side, on half of the connections to Apple: codes and revocations come first.
    ///
    /// The first is asked alone, and one answer that would be the same for all is enough.
    private func ask(
        _ credentials: ArraySlice<HeldCredential>
    ) async throws -> (answers: [Answered], unasked: ArraySlice<HeldCredential>) {
        let question = CredentialQuestion(services: services)
        let width = max(1, services.apple.callsAtOnce / 2)
        var waiting = credentials
        return try await withThrowingTaskGroup(of: Answered.self) { group in
            var answers: [Answered] = []
            var running = 0
            var isAnswering = true
            repeat {
                while isAnswering, running < (answers.isEmpty ? 1 : width), let next = waiting.popFirst() {
                    running += 1
                    group.addTask { (next, try await question.ask(next)) }
                }
                guard let answered = try await group.next() else { break }
                running -= 1
                answers.append(answered)
                if case .unavailable = answered.answer { isAnswering = false }
            } while running > 0 || (isAnswering && !waiting.isEmpty)
            return (answers, waiting)
        }
    }

    // MARK: - Rows

    private func takeDue() async throws -> [HeldCredential] {
        let interval = services.policy.checkInterval
        return try await services.pool.withConnection { connection in
            try HeldCredential.take(
                choosing: """
                    select id
                    from accountctl.apple_credentials
                    where check_after <= now()
                    order by check_after
                    limit \(Self.batch)
                    for update skip locked
                    """,
                every: interval,
                on: connection
            )
        }
    }

    /// Apple was not asked, or gave no answer: sooner than tomorrow, and not before Apple wants to be asked again.
    private func putOff(_ credentials: ArraySlice<HeldCredential>, atLeast pause: Duration) async throws {
        guard !credentials.isEmpty else { return }
        let ids = credentials.map(\.id)
        let seconds = min(pause, .seconds(3600)) / .seconds(1)
        _ = try await services.pool.withConnection { connection in
            try connection.execute(
                """
                update accountctl.apple_credentials
                set check_after = now() + greatest(\(seconds), 1800) * (1 + random()) * interval '1 second'
                where id = any (\(ids))
                """
            )
        }
    }

    /// Records the finding as an event, and has it handled like one of Apple's.
    private func tellGone(_ credential: HeldCredential) async throws {
        _ = try await services.pool.withTransaction { connection in
            // Not when the credential was replaced while Apple was asked: the person came back.
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
