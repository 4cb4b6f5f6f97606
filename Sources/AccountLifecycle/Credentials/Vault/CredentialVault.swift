package import Postgres
package import Sealing

/// The sealed credentials as a whole: which keys they need, and how they are moved to a new key while workers run.
package struct CredentialVault: Sendable {
    /// How much a key seals.
    package struct KeyUse: Sendable, Hashable {
        /// The key's name.
        package let key: String
        /// Credentials of existing accounts.
        package var credentials = 0
        /// Credentials of erased accounts that are still to be revoked.
        package var pendingRevocations = 0
        /// Open deletion requests whose sealed identifiers are still needed; they are deleted with the receipt and
        /// never moved to another key.
        package var deletionRequests = 0
        /// Whether the key is in the ring.
        package var isPresent = false
        /// Whether it is the key that seals now.
        package var isNewest = false
        /// Whether the ring's key of this name differs from the one that sealed here.
        package var isAnother = false

        /// Whether something is sealed with it.
        package var isNeeded: Bool { credentials + pendingRevocations + deletionRequests > 0 }
        /// Whether something is sealed with it that the ring cannot open.
        package var isMissing: Bool { isNeeded && !isPresent }
    }

    /// What a rotation did.
    package struct Rotation: Sendable, Hashable {
        /// Credentials of existing accounts that were moved to the newest key.
        package var credentials = 0
        /// Credentials of erased accounts, still to be revoked, that were moved to the newest key.
        package var pendingRevocations = 0
        /// Could not be opened; ``CredentialVault/status()`` shows what remains under each key.
        package var failed = 0

        /// How many were looked at.
        package var done: Int { credentials + pendingRevocations + failed }
    }

    /// What is sealed with a key.
    private enum Use: String, PostgresDecodable {
        case credential
        case pendingRevocation = "pending_revocation"
        case deletionRequest = "deletion_request"
    }

    private let pool: Pool
    private let keys: KeyRing

    /// Makes a vault.
    package init(pool: Pool, keys: KeyRing) {
        self.pool = pool
        self.keys = keys
    }

    /// Which keys are in use, which are missing, and which differ from those that sealed here.
    ///
    /// - Returns: One entry per key of the ring or the database, by name.
    /// - Throws: ``PostgresError``.
    package func status() async throws -> [KeyUse] {
        let keys = keys
        return try await pool.withConnection { try Self.uses(of: keys, on: $0) }
    }

    /// Which keys are in use, missing or different from those that sealed here, for any ring; changes nothing.
    ///
    /// - Throws: ``PostgresError``.
    package static func uses(of keys: KeyRing, on connection: isolated Connection) throws -> [KeyUse] {
        let rows = try connection.query(
            """
            select sealing_key_id, count(*), \(Use.credential.rawValue)
            from accountctl.apple_credentials
            group by sealing_key_id
            union all
            select sealing_key_id, count(*), \(Use.pendingRevocation.rawValue)
            from accountctl.pending_revocations
            where sealing_key_id is not null
            group by sealing_key_id
            union all
            select sealing_key_id, count(*), \(Use.deletionRequest.rawValue)
            from accountctl.deletion_requests
            where sealing_key_id is not null
            group by sealing_key_id
            """,
            as: (String, Int, Use).self
        )
        let another = try otherKeys(keys, on: connection)
        var uses: [String: KeyUse] = [:]
        for id in keys.ids { uses[id.text] = KeyUse(key: id.text) }
        for (key, count, use) in rows {
            switch use {
            case .credential: uses[key, default: KeyUse(key: key)].credentials = count
            case .pendingRevocation: uses[key, default: KeyUse(key: key)].pendingRevocations = count
            case .deletionRequest: uses[key, default: KeyUse(key: key)].deletionRequests = count
            }
        }
        return uses.values.map { use in
            var use = use
            use.isPresent = keys.ids.contains { $0.text == use.key }
            use.isNewest = keys.newestID.text == use.key
            use.isAnother = another.contains { $0.text == use.key }
            return use
        }.sorted { $0.key < $1.key }
    }

    /// Stores a canary under each key of the ring that has none yet.
    ///
    /// Call this before anything is sealed, and after ``status()`` found no different key under a known name. From then
    /// on such a key is detected before it seals anything.
    ///
    /// - Throws: ``PostgresError``.
    package func recordKeys() async throws {
        let canaries = keys.ids.compactMap { id in keys.canary(of: id).map { (id.text, $0.text) } }
        try await pool.withConnection { connection in
            for (id, canary) in canaries {
                try connection.execute(
                    """
                    insert into accountctl.sealing_canaries (key_id, canary)
                    values (\(id), \(canary))
                    on conflict (key_id) do nothing
                    """
                )
            }
        }
    }

    /// Keys of a ring that differ from those that first sealed here under their names.
    private static func otherKeys(_ keys: KeyRing, on connection: isolated Connection) throws -> [KeyID] {
        let stored = try connection.query("select canary from accountctl.sealing_canaries", as: String.self)
        return stored.compactMap { canary in
            if case .different(let id) = keys.check(canary: canary) { id } else { nil }
        }
    }

    /// Moves every credential to the newest key, in small batches, while workers run.
    ///
    /// Calls `progress` after each batch. It may be stopped and started again. A row that changes in the meantime is
    /// left as it is, since it was sealed with the new key.
    ///
    /// - Throws: ``PostgresError``; `CancellationError`.
    package func rotate(progress: (Rotation) -> Void = { _ in }) async throws -> Rotation {
        var rotation = Rotation()
        for table in SealedTable.allCases {
            var after: Int64 = 0
            while true {
                try Task.checkCancellation()
                let batch = try await moveBatch(of: table, after: after)
                guard let last = batch.last else { break }
                switch table {
                case .credentials: rotation.credentials += batch.moved
                case .pendingRevocations: rotation.pendingRevocations += batch.moved
                }
                rotation.failed += batch.failed
                after = last
                progress(rotation)
            }
        }
        return rotation
    }

    private struct Batch: Sendable {
        var moved = 0
        var failed = 0
        var last: Int64?
    }

    private func moveBatch(of table: SealedTable, after: Int64) async throws -> Batch {
        let keys = keys
        return try await pool.withConnection { connection in
            let rows = try table.rows(after: after, notUnder: keys.newestID, on: connection)
            var batch = Batch(last: rows.last?.id)
            for row in rows {
                guard let sealed = SealedText(row.token), let moved = try? keys.reseal(sealed, for: row.context) else {
                    batch.failed += 1
                    continue
                }
                batch.moved += try table.move(row, to: moved, with: keys, on: connection)
            }
            return batch
        }
    }
}
