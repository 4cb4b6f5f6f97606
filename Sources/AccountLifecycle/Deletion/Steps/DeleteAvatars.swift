import ObjectStorage
import Postgres
import Waiting

extension DeletionRun {
    /// How often what remains is looked for again within one attempt.
    private static let rounds = 5

    /// Removes the account's objects through the Storage API, until neither the database nor Storage lists any.
    ///
    /// The API's success says little: it answers 200 with an empty list for keys that are not there, that it may not
    /// see, and for buckets that do not exist. What counts is that the rows are gone.
    func deleteAvatars() async throws -> StepResult {
        for _ in 0..<Self.rounds {
            let found = try await services.objects.answer(for: user)
            let objects = objectsToDelete(among: found)
            if objects.isEmpty { return try await concludeFiles(found) }
            // All others have gone: a bucket keeps versions since the preflight.
            if objects.allSatisfy({ $0.version == .missing }),
                let unnamed = Situation.blocked(by: FilePlan.namedByNoCall(objects))
            {
                return refused(unnamed)
            }
            try await services.flushes.answer(for: ())
            for (bucket, objects) in Dictionary(grouping: objects, by: \.bucket).sorted(by: { $0.key < $1.key }) {
                for start in stride(from: 0, to: objects.count, by: StorageClient.largestBatch) {
                    let part = Array(objects[start..<min(start + StorageClient.largestBatch, objects.count)])
                    if let stop = try await delete(part, in: bucket) { return stop }
                }
            }
        }
        return .failed(Situation(.storageUnusable, detail: "objects keep appearing"))
    }

    /// How the step ends where the database lists no object any more that is to go.
    private func concludeFiles(_ found: AccountObjects.Found) async throws -> StepResult {
        if let listed = try await listedByStorage() { return .failed(listed) }
        // Files in buckets that had none at the preflight do not keep the rows, but the erasure from its end: the last
        // search sends the run back here.
        if let undecided = undecidedBuckets(among: found),
            try await !services.pool.withConnection({ try accountExists(on: $0) })
        {
            return refused(undecided)
        }
        // What nobody decided about was named since the preflight, or let go by another: it stays, as what is shared does.
        // Nobody is stopped half-way for it.
        let counts = try await counts(staying: found.shared + found.undecided)
        return .done(counts.values.allSatisfy { $0 == 0 } ? .nothingFound : .ok, StepFacts(counts: counts))
    }

    /// Has Storage delete some objects of a bucket, at most `StorageClient.largestBatch`.
    ///
    /// - Returns: How the step ends where it comes no further; nil where it goes on.
    private func delete(_ objects: [StoredObject], in bucket: String) async throws -> StepResult? {
        let (deletion, trouble) = try await services.storage.delete(in: bucket) { try await stillOwned(objects) }
        guard !deletion.asked.isEmpty else { return trouble.map(StepResult.failed) }
        let asked = deletion.asked.sorted().map { StoredObject(bucket: bucket, target: $0) }
        if trouble == nil { try await services.probe(.middle(.deleteAvatars)) }
        let left = try await countDeleted(asked)
        // Rows that came since the preflight: Storage calls its refusal an invalid request. However many go along, they
        // keep it from nothing.
        if left > 0, let references = try await lookForReferences(to: asked, maximumRows: .max) {
            return refused(references)
        }
        if let trouble { return .failed(trouble) }
        guard !deletion.last.isEmpty, left == asked.count else { return nil }
        let detail = "Storage reports success, and \(left) objects are still there"
        return .failed(Situation(.storageUnusable, subject: bucket, detail: detail))
    }

    /// Those of some objects that may go still: they were found before the line at Storage, and before all parts that
    /// came first, and Storage deletes by key, whoever has it by now.
    private func stillOwned(_ objects: [StoredObject]) async throws -> [StorageTarget] {
        let own = try await services.pool.withConnection { connection in
            try lookAgain(.deleteAvatars, on: connection)
            return try AccountObjects.stillOwned(
                objects,
                by: user,
                // Read anew: a migration of the app may have given the name of its key to another column.
                profiles: DeletionCatalog.readProfiles(on: connection),
                folders: services.policy.avatarFolders,
                on: connection
            )
        }
        if !own.isEmpty { try lease?(services.storage.longestCall) }
        // More than was asked about where the bucket keeps versions since; these are found in the next round.
        return own.prefix(StorageClient.largestBatch).compactMap(\.target)
    }

    /// Counts those of some objects that are gone, after an error, too: the answer may have been lost, and all of it done.
    ///
    /// At once, since the next try finds them gone, and a worker that is ended writes nothing more.
    ///
    /// - Returns: How many are still there.
    private func countDeleted(_ asked: [StoredObject]) async throws -> Int {
        try await services.pool.withConnection { connection in
            let left = try AccountObjects.remaining(asked, on: connection).count
            if left < asked.count {
                try journal.add(["objects": asked.count - left], to: .deleteAvatars, on: connection)
            }
            return left
        }
    }

    /// What was deleted by this try and those before it; and what stays.
    private func counts(staying: Int) async throws -> [String: Int] {
        try await services.pool.withConnection { connection in
            let before = try journal.counts(of: .deleteAvatars, on: connection)
            // Once the profile is gone nothing tells any more what stayed.
            let stayed = try accountExists(on: connection) ? 0 : before["shared"] ?? 0
            var counts = ["objects": before["objects"] ?? 0]
            if max(staying, stayed) > 0 { counts["shared"] = max(staying, stayed) }
            return counts
        }
    }

    /// Those of the account's objects that lie in the buckets that are to be emptied.
    func objectsToDelete(among found: AccountObjects.Found) -> [StoredObject] {
        found.objects.filter { services.policy.buckets.contains($0.bucket) }
    }

    /// Whether Storage itself lists objects under the user's id that the database does not know of.
    private func listedByStorage() async throws -> Situation? {
        guard services.storage.isConfigured else { return nil }
        for bucket in services.policy.buckets.sorted() {
            for prefix in [user.text + "/", user.text.uppercased() + "/"] {
                switch try await services.storage.list(prefix, in: bucket) {
                case .trouble(let situation): return situation
                case .keys(let keys):
                    guard !keys.isEmpty else { continue }
                    // Somebody else's, by the ownership rule, may lie there and stay.
                    let known = try await services.pool.withConnection { connection in
                        try AccountObjects.remaining(keys.map { StoredObject(bucket: bucket, key: $0) }, on: connection)
                    }
                    if known.count < keys.count {
                        return Situation(
                            .storageUnusable,
                            subject: bucket,
                            detail: "Storage lists objects that have no row"
                        )
                    }
                }
            }
        }
        return nil
    }
}
