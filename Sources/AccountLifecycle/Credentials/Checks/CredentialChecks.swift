import Logging
import Metrics
import Postgres
import SignInWithApple

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Asks Apple whether held credentials are still valid, each at most once a day, to make up for lost notifications.
struct CredentialChecks: Sendable {
    /// The results of a sweep.
    struct Tally: Codable, Sendable, Hashable {
        var live = 0
        /// Refused, and the refusal was believed.
        var gone = 0
        /// Refused without proof that the refusal is about the person; or an answer that may be our own fault.
        var inconclusive = 0
        /// Refused in such numbers that no refusal was believed.
        var heldBack = 0
        /// The token cannot be opened here.
        var unreadable = 0
        var postponed = 0
    }

    /// How many credentials are asked about before their answers are judged together.
    private static let round = 200

    let services: CredentialServices
    private let counters: [(counter: Counter, count: @Sendable (Tally) -> Int)]

    /// Creates a checker and all series of its metric, since an alert sees no increase in a series that starts with its
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

    /// Checks the credentials whose daily check is due.
    ///
    /// Each is rescheduled by a day **before** Apple is asked: a process that dies in between costs one check and never
    /// causes two in a day.
    ///
    /// - Returns: The results.
    /// - Throws: ``PostgresError``; `CancellationError`.
    func sweep() async throws -> Tally {
        var tally = Tally()
        let due = Dictionary(grouping: try await takeDue(), by: \.clientID)
        for (clientID, credentials) in due.sorted(by: { $0.key < $1.key }) {
            // Apple cannot be asked for this client id. All but one of its credentials wait until tomorrow; the one
            // tests the client id before that. If all came back within the hour, those of one broken key would fill
            // every sweep, and those of other teams would never have their turn.
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
                // The remaining credentials of this client id wait for the breaker, or for Apple.
                try await putOff(waiting, atLeast: silence)
                tally.postponed += waiting.count
                guard silence > .zero else { break }
                // So do those that would fall due before Apple wants to be asked.
                try await putOffNext(of: clientID, atLeast: silence)
                break
            }
        }
        for (counter, count) in counters { counter.increment(by: count(tally)) }
        return tally
    }

    // MARK: - One round

    /// Asks about some credentials of one client id, and judges the answers together.
    ///
    /// - Returns: How long not to ask Apple for this client id, zero if Apple gave no time; nil if Apple answers.
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
            // Apple says that a request is invalid also where client and token do not fit each other.
            case .doubtful where services.apple.hasLeft(credential.teamID, clientID): refused.append(credential)
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
        refused = try await forgetFormer(refused, of: clientID, &tally)
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
            "Apple refused many credentials at once; nobody was signed out and nothing was forgotten",
            metadata: [
                "client_id": "\(clientID)", "refused": "\(refused)", "answered": "\(answered)",
                "gone_within_a_day": "\(brake.goneToday)",
            ]
        )
        return true
    }

    private typealias Answered = (credential: HeldCredential, answer: CredentialQuestion.Answer)

    /// Asks concurrently, on half of the connections to Apple, since codes and revocations have priority.
    ///
    /// The first credential is asked about alone, and an answer that would be the same for all ends the round.
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
}
