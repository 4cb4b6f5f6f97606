import Postgres
import Waiting

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension DeletionRun {
    /// Checks for everything that could stop the run half-way, before anything is touched, and collects the
    /// identifiers.
    func preflight() async throws -> StepResult {
        // First, before anything expensive: of a hundred thousand requests at once, nearly all wait here.
        if !record.isCounted,
            let stop = try await services.pool.withConnection({ try services.ceiling.stop(record.id, on: $0) })
        {
            return stop
        }
        let database = try await patiently { deadline in
            // Reads tables of the app, which may have other owners.
            try await services.pool.reading { connection -> DatabaseView in
                try lookAtDatabase(deadline, on: connection)
            }
        }
        if let situation = Situation.blocked(by: database.blockers) { return blocked(by: situation) }
        try await sealIdentifiers(database.identifiers)
        if let situation = try await lookAtStorage() {
            // A Storage outage passes by itself; an undecided bucket or file needs a person.
            return situation.code == .storageUnusable ? .failed(situation) : blocked(by: situation)
        }
        if let situation = try await lookAtApple(database.clientIDs) {
            return .stopped(.waitingForApple, situation)
        }
        // Last, since it locks the account's rows for a moment.
        var untried: [String]?
        switch try await askTriggers() {
        case .pass: break
        case .refusal(let blocker): return blocked(by: blocker)
        // Not tried for longer here: the account still works, and would have to wait for its row.
        case .unknown(let questions): untried = questions.map(\.description)
        }
        let facts = StepFacts(unindexed: database.unindexed, untried: untried)
        return .done(database.identifiers == nil ? .alreadyGone : .ok, facts)
    }

    private func askTriggers() async throws -> BlockerSearch.Answer {
        let plan = try await services.catalogs.plan(in: services.pool)
        return try await services.pool.withConnection { connection in
            try await BlockerSearch(plan, user: user).askTriggers(on: connection)
        }
    }

    private struct DatabaseView: Sendable {
        var blockers: [Blocker] = []
        /// nil if the account is gone.
        var identifiers: [Identifier]?
        var unindexed: [String]?
        /// The client ids of the credentials held.
        var clientIDs: [String] = []
    }

    private func lookAtDatabase(_ deadline: Duration, on connection: isolated Connection) throws -> DatabaseView {
        var view = DatabaseView()
        let plan = try services.catalogs.plan(on: connection)
        try AccountRows.allow(deadline, on: connection)
        view.blockers = try BlockerSearch(plan, user: user)
            .run(maximumRows: services.policy.maximumRows, deadline: deadline, on: connection)
        let unindexed = Set(plan.unindexed.map { "\($0.table).\($0.columns.joined(separator: ","))" })
        view.unindexed = unindexed.isEmpty ? nil : unindexed.sorted()
        view.identifiers = try IdentifierCollection.read(of: user, on: connection)
        view.clientIDs = try AppleCredential.clientIDs(of: user, on: connection)
        return view
    }

    /// Stores the identifiers to search for later, together with those of an earlier preflight: an address that has
    /// been changed since is still in old rows.
    ///
    /// Stored identifiers that cannot be opened are not replaced, even if the account still exists: another worker's
    /// keys may open them, and no account contains the old ones any more. Once an operator has declared the key lost,
    /// the account's identifiers are collected again.
    ///
    /// - Throws: `SealingError`, as ``openIdentifiers()``.
    private func sealIdentifiers(_ identifiers: [Identifier]?) async throws {
        let known = try openIdentifiers()
        guard let identifiers else { return }
        let all = identifiers + known.filter { !identifiers.contains($0) }
        let sealed = try services.vault.seal(all, request: record.id, user: user)
        try await services.pool.withConnection { connection in
            try journal.write(
                """
                request as (
                    \(IdentifierCollection.storing(sealed, with: record.id)) and exists (select from held)
                )
                """,
                on: connection
            )
        }
    }

    /// Checks whether Storage can be used, and whether somebody decided about every bucket with objects of the account,
    /// and about the unowned files that its profile names.
    private func lookAtStorage() async throws -> Situation? {
        let found = try await services.objects.answer(for: user)
        let buckets = Set(found.objects.map(\.bucket))
        if let situation = undecidedBuckets(among: found) ?? Situation.undecided(files: found.undecided) {
            return situation
        }
        let references = try await lookForReferences(
            to: objectsToDelete(among: found),
            maximumRows: services.policy.maximumRows
        )
        if let references { return references }
        // Even for an account without objects, Storage is asked after the lock-out whether it lists any; not if no
        // Storage is configured.
        guard services.storage.isConfigured || !buckets.isDisjoint(with: services.policy.buckets) else { return nil }
        return try await services.storage.trouble()
    }

    /// Finds rows that refer to files to be deleted and prevent that, or, unless `maximumRows` is nil, that would be
    /// deleted with them in too great a number.
    func lookForReferences(to objects: [StoredObject], maximumRows: Int?) async throws -> Situation? {
        let plan = try await services.catalogs.plan(in: services.pool).files
        guard plan.isAbout(objects), !objects.isEmpty else { return nil }
        let blockers = try await patiently { deadline in
            try await services.pool.reading { connection -> [Blocker] in
                try AccountRows.allow(deadline, on: connection)
                return try plan.blockers(
                    ofDeleting: objects,
                    maximumRows: maximumRows,
                    deadline: deadline,
                    on: connection
                )
            }
        }
        return Situation.blocked(by: blockers)
    }

    /// The situation that nobody decided about buckets in which the account has objects; nil if there are none.
    func undecidedBuckets(among found: AccountObjects.Found) -> Situation? {
        let decided = services.policy.buckets.union(services.policy.keptBuckets)
        return Situation.undecided(Set(found.objects.map(\.bucket)).subtracting(decided))
    }

    /// Whether Apple can be asked to revoke what is held; an account without a credential does not wait, and none waits
    /// forever.
    private func lookAtApple(_ clientIDs: [String]) async throws -> Situation? {
        guard !clientIDs.isEmpty, !record.withoutApple, record.facts.now < appleGiveUp else { return nil }
        for clientID in clientIDs {
            if let situation = try await services.apple.trouble(with: clientID) { return situation }
        }
        // Apple works again: a later outage gets the full waiting time.
        if record.appleWaitingSince != nil {
            try await services.pool.withConnection { try journal.endWaitForApple(on: $0) }
        }
        return nil
    }

    /// When the run continues without Apple: after the time that the operator allows, and at the latest a day before
    /// the legal deadline.
    var appleGiveUp: Date {
        let waitingSince = record.appleWaitingSince ?? record.facts.now
        let patience = waitingSince.addingTimeInterval(Double(services.policy.appleGiveUp.components.seconds))
        return min(patience, record.legalDeadline.addingTimeInterval(-86_400))
    }
}
