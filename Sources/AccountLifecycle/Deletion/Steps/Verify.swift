import Postgres
import Waiting

extension DeletionRun {
    /// How long until residue is checked again without being woken.
    private static let lookAtResidueAfter = Duration.seconds(3600)

    /// Searches everything readable for every identifier, in one pass with every request that waits for it; the same
    /// for ``DeletionStep/verify`` and, for the last time, for ``DeletionStep/settle``.
    ///
    /// Realtime keeps the subscriptions of a connected app until the access token expires at most, so only the last
    /// search looks for them.
    func verify(isLast: Bool) async throws -> StepResult {
        let target = SearchTarget(request: record.id, userID: user, identifiers: try openIdentifiers())
        var (findings, report) = try await services.searches.answer(for: target)
        if !isLast { findings.removeAll { $0.column.hasPrefix("realtime.subscription.") } }
        // Data that an old token has written since is work for an earlier step, not residue.
        if findings.contains(where: { $0.column.hasPrefix("storage.") }),
            try await !objectsToDelete(among: services.objects.answer(for: user)).isEmpty
        {
            return .back(to: .deleteAvatars)
        }
        if findings.contains(where: { $0.column.hasPrefix("auth.") || $0.column.hasPrefix("storage.") }) {
            guard let scrubbed = try await services.scrubs.answer(for: user) else { throw Braked() }
            if scrubbed.total > 0 {
                try await services.pool.withConnection { try journal.add(scrubbed.byName, to: .scrubAuth, on: $0) }
                return .back(to: .scrubAuth)
            }
            if try await services.pool.withConnection({ try accountExists(on: $0) }) { return .back(to: .deleteRows) }
        }
        let (accepted, shared) = try await services.pool.withConnection { connection in
            (
                try AcceptedColumn.namesInSearches(on: connection),
                try journal.counts(of: .deleteAvatars, on: connection)["shared"] ?? 0
            )
        }
        let residue = findings.filter { !accepted.contains($0.column) }
        guard residue.isEmpty else {
            if try await areUndecidedFiles(residue) { return .back(to: .deleteAvatars) }
            let told = report.othersFiles[record.id].map { "besides, \($0) names of files that other accounts own" }
            let situation = Situation(.residue, detail: told, findings: residue)
            return .stopped(.residue, situation, lookAgainAfter: Self.lookAtResidueAfter)
        }
        let sought = target.identifiers.filter(\.isSearchable).count
        var counts = ["tables": report.tables, "columns": report.columns, "identifiers": sought]
        if sought < target.identifiers.count { counts["unsearchable"] = target.identifiers.count - sought }
        counts["others_files"] = report.othersFiles[record.id]
        let kept = try await keptObjects()
        let facts = StepFacts(
            counts: counts,
            accepted: findings.isEmpty ? nil : findings,
            kept: kept,
            unreadable: report.unreadable.isEmpty ? nil : report.unreadable
        )
        // Some identifiers were given up with their key, or the account was gone, or hashed by a soft deletion, before
        // they could be collected. An anonymous account has only its id.
        if record.sealedIdentifiers == nil || record.withoutIdentifiers { return .done(.notVerifiable, facts) }
        // A picture of the person may be among files that another account names, too, and files in a kept bucket are
        // the person's: the outcome must not say that all is gone.
        let stayed = shared + (kept ?? [:]).values.reduce(0, +)
        return .done(findings.isEmpty && stayed == 0 ? .ok : .accepted, facts)
    }

    /// Whether all that is left are files, some of them in undecided buckets that had none at the preflight: the step
    /// that deletes files reports these.
    ///
    /// If they were reported as residue, somebody would remove them by hand: the rows, but not the bytes.
    private func areUndecidedFiles(_ residue: [Situation.Finding]) async throws -> Bool {
        guard residue.allSatisfy({ $0.column.hasPrefix("storage.") }) else { return false }
        return undecidedBuckets(among: try await services.objects.answer(for: user)) != nil
    }

    /// The number of the account's objects and unfinished uploads in each bucket that may keep them; nil if there is no
    /// such bucket.
    private func keptObjects() async throws -> [String: Int]? {
        let buckets = services.policy.keptBuckets
        guard !buckets.isEmpty else { return nil }
        let objects = try await services.objects.answer(for: user).objects.filter { buckets.contains($0.bucket) }
        let unfinished = try await services.pool.withConnection { connection in
            try UnfinishedUploads.count(of: user, in: buckets, on: connection)
        }
        return Dictionary(buckets.map { ($0, 0) } + objects.map { ($0.bucket, 1) }, uniquingKeysWith: +)
            .merging(unfinished, uniquingKeysWith: +)
    }

    /// The identifiers that were collected; none if the account was already gone, or if they were given up with their
    /// key and not collected again.
    ///
    /// - Throws: `SealingError`, even if others were given up before: those collected since have a key of their own,
    ///   which another worker may have.
    func openIdentifiers() throws -> [Identifier] {
        guard let sealed = record.sealedIdentifiers else { return [] }
        return try services.vault.open(sealed, request: record.id, user: user)
    }

    /// Whether the auth user exists.
    func accountExists(on connection: isolated Connection) throws -> Bool {
        try connection.one("select exists (select from auth.users where id = \(user))", as: Bool.self)
    }
}
