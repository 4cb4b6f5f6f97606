import Logging
import ObjectStorage
import Postgres
import Waiting

extension DeletionRun {
    /// How often one attempt looks again for what remains.
    private static let rounds = 5

    /// A call for so few files fails for another reason than their number.
    private static let few = 7

    /// Removes the account's objects through the Storage API, until neither the database nor Storage lists any.
    ///
    /// A success of the API proves little: it answers 200 with an empty list for keys that do not exist or that it may
    /// not see, and for buckets that do not exist. The proof is that the rows are gone.
    func deleteAvatars() async throws -> StepResult {
        for _ in 0..<Self.rounds {
            let found = try await services.objects.answer(for: user)
            let objects = objectsToDelete(among: found)
            if objects.isEmpty { return try await concludeFiles(found) }
            // All other objects are gone. No call can name these, since versioning was enabled on a bucket after the
            // preflight.
            if objects.allSatisfy({ $0.version == .missing }),
                let unnamed = Situation.blocked(by: FilePlan.namedByNoCall(objects))
            {
                return blocked(by: unnamed)
            }
            try await services.flushes.answer(for: ())
            for (bucket, objects) in Dictionary(grouping: objects, by: \.bucket).sorted(by: { $0.key < $1.key }) {
                if let stop = try await delete(objects, in: bucket) { return stop }
            }
        }
        return .failed(Situation(.storageUnusable, detail: "objects keep appearing"))
    }

    /// How the step ends once the database lists no object that is to be deleted.
    private func concludeFiles(_ found: AccountObjects.Found) async throws -> StepResult {
        if let listed = try await listedByStorage() { return .failed(listed) }
        // Files in an undecided bucket that had none at the preflight do not stop the delete of the rows, but they stop
        // the deletion from ending: the last search sends the run back here.
        if let undecided = undecidedBuckets(among: found),
            try await !services.pool.withConnection({ try accountExists(on: $0) })
        {
            return blocked(by: undecided)
        }
        // An undecided file was first named after the preflight, or another account stopped naming it. It stays, as a
        // shared file does: no request is stopped half-way for it.
        let counts = try await counts(staying: found.shared + found.undecided)
        return .done(counts.values.allSatisfy { $0 == 0 } ? .nothingFound : .ok, StepFacts(counts: counts))
    }

    /// Deletes objects of a bucket through Storage, in parts.
    ///
    /// Storage's database has a time limit of its own: a call that may have exceeded it is followed by calls for fewer
    /// files.
    ///
    /// - Returns: The result that ends the step; nil if the step continues.
    private func delete(_ objects: [StoredObject], in bucket: String) async throws -> StepResult? {
        var size = StorageClient.largestBatch
        var left = objects[...]
        while !left.isEmpty {
            let part = Array(left.prefix(size))
            let (deletion, trouble) = try await services.storage.delete(in: bucket) { try await stillOwned(part) }
            if let stop = try await end(after: deletion, trouble, in: bucket) {
                guard case .failed = stop, deletion.mayHaveBeenTooLarge, part.count > Self.few else { return stop }
                size = max(Self.few, part.count / 4)
                services.logger(for: record.id).notice(
                    "a call to Storage failed: the next ones are for fewer files",
                    metadata: ["bucket": "\(bucket)", "files": "\(size)", "reason": "\(trouble?.detail ?? "")"]
                )
            } else {
                left = left.dropFirst(size)
            }
        }
        return nil
    }

    /// Counts what a call to Storage deleted, and looks for what kept the rest.
    ///
    /// - Returns: The result that ends the step; nil if the step continues.
    private func end(
        after deletion: JudgedDeletion,
        _ trouble: Situation?,
        in bucket: String
    ) async throws -> StepResult? {
        guard !deletion.asked.isEmpty else { return trouble.map(StepResult.failed) }
        let asked = deletion.asked.sorted().map { StoredObject(bucket: bucket, target: $0) }
        if trouble == nil { try await services.probe(.middle(.deleteAvatars)) }
        let left = try await countDeleted(asked)
        // Rows may refer to the files since the preflight; Storage reports that refusal as an invalid request. There is
        // no limit on rows that cascade with the files, since they do not stop Storage.
        if left > 0, let references = try await lookForReferences(to: asked, maximumRows: nil) {
            return blocked(by: references)
        }
        if let trouble { return .failed(trouble) }
        guard !deletion.last.isEmpty, left == asked.count else { return nil }
        let detail = "Storage reports success, and \(left) objects are still there"
        return .failed(Situation(.storageUnusable, subject: bucket, detail: detail))
    }

    /// Those of the objects that may still be deleted: they were found before queueing for Storage and before all
    /// earlier parts, and Storage deletes by key, whoever owns the object by now.
    private func stillOwned(_ objects: [StoredObject]) async throws -> [StorageTarget] {
        let own = try await services.pool.withConnection { connection in
            try lookAgain(.deleteAvatars, on: connection)
            return try AccountObjects.stillOwned(
                objects,
                by: user,
                // Read again: a migration of the app may have given the name of the key column to another column.
                profiles: DeletionCatalog.readProfiles(on: connection),
                folders: services.policy.avatarFolders,
                on: connection
            )
        }
        if !own.isEmpty { try lease?(services.storage.longestCall) }
        // More objects than asked about if the bucket keeps versions since; the next round finds the rest.
        return own.prefix(StorageClient.largestBatch).compactMap(\.target)
    }

    /// Counts those of the objects that are gone, also after an error: Storage may have deleted them all and only its
    /// answer was lost.
    ///
    /// Recorded at once, since the next attempt finds them gone, and a worker that is terminated writes nothing more.
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

    /// The number of objects deleted by this attempt and earlier ones, and the number that stays.
    private func counts(staying: Int) async throws -> [String: Int] {
        try await services.pool.withConnection { connection in
            let before = try journal.counts(of: .deleteAvatars, on: connection)
            // Once the profile is gone, only the recorded count still tells what stayed.
            let stayed = try accountExists(on: connection) ? 0 : before["shared"] ?? 0
            var counts = ["objects": before["objects"] ?? 0]
            if max(staying, stayed) > 0 { counts["shared"] = max(staying, stayed) }
            return counts
        }
    }

    /// Those of the account's objects that are in buckets configured for deletion.
    func objectsToDelete(among found: AccountObjects.Found) -> [StoredObject] {
        found.objects.filter { services.policy.buckets.contains($0.bucket) }
    }

    /// Checks whether Storage itself lists objects under the user's id that have no row in the database.
    private func listedByStorage() async throws -> Situation? {
        guard services.storage.isConfigured else { return nil }
        for bucket in services.policy.buckets.sorted() {
            for prefix in [user.text + "/", user.text.uppercased() + "/"] {
                switch try await services.storage.list(prefix, in: bucket) {
                case .trouble(let situation): return situation
                case .keys(let keys):
                    guard !keys.isEmpty else { continue }
                    // Objects there may be somebody else's by the ownership rule, and stay.
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
