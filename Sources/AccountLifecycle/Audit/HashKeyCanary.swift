package import Postgres
package import Sealing

/// The current hash key is not the one that was used here under the same name.
package struct OtherHashKey: Error, Sendable, Hashable, CustomStringConvertible {
    /// The name that both keys have.
    let key: KeyID

    package var description: String { "\"\(key)\" is not the hash key that was used here under that name" }
}

/// Detects a hash key that is not the one that made this database's hashes under the same name.
///
/// A wrong key causes no failure by itself: receipts would look tampered with, and erased accounts as if they had never
/// existed.
package enum HashKeyCanary {
    /// How many receipts are checked if no canary is stored yet, since one of them may have been tampered with.
    private static let receipts = 20

    /// Checks a key before it is used for a search by hash; changes nothing.
    ///
    /// A schema of an earlier version, which has no canaries, passes.
    ///
    /// - Throws: ``OtherHashKey``; ``PostgresError``.
    package static func check(_ key: HashKey, on connection: isolated Connection) throws {
        _ = try isKnown(key, on: connection)
    }

    /// How a key relates to the other keys that were used here.
    package enum Standing: Sendable, Hashable {
        /// It is the only key, or no key was used yet.
        case alone
        /// It was never used here, and these keys were.
        case unknown(others: [String])
        /// It is newer than these keys, and does not find what was hashed with them.
        case newest(others: [String])
        /// These keys are newer.
        case older(others: [String])

        /// The other keys, by name.
        package var others: [String] {
            switch self {
            case .alone: []
            case .unknown(let others), .newest(let others), .older(let others): others
            }
        }
    }

    /// How a key relates to the others; changes nothing.
    ///
    /// Keys that are older than the canaries are known from receipts: the first one, and the newest.
    ///
    /// - Throws: ``OtherHashKey``; ``PostgresError``.
    package static func standing(of key: HashKey, on connection: isolated Connection) throws -> Standing {
        let isStored = try isKnown(key, on: connection)
        guard try mayUse("select", on: connection) else { return .alone }
        let keys = try connection.query(
            """
            with ends as (
                (select subject_key_id from accountctl.deletion_receipts order by number limit 1)
                union
                (select subject_key_id from accountctl.deletion_receipts order by number desc limit 1)
            )
            select key_id, extract(epoch from created_at)::double precision
            from accountctl.hash_key_canaries
            union all
            select subject_key_id, '-infinity'::double precision
            from ends
            where subject_key_id not in (select key_id from accountctl.hash_key_canaries)
            order by 2, 1
            """,
            as: (String, Double).self
        ).map(\.0)
        let others = keys.filter { $0 != key.id.text }
        if others.isEmpty { return .alone }
        guard isStored || keys.contains(key.id.text) else { return .unknown(others: others) }
        return keys.last == key.id.text ? .newest(others: others) : .older(others: others)
    }

    /// Refuses a key that was never used here if others were; changes nothing.
    ///
    /// - Throws: ``NewHashKey``; ``OtherHashKey``; ``PostgresError``.
    package static func refuseNew(_ key: HashKey, on connection: isolated Connection) throws {
        guard case .unknown(let others) = try standing(of: key, on: connection) else { return }
        throw NewHashKey(key: key.id, others: others)
    }

    /// Checks a key before something is hashed with it, and stores its canary if it is the first key of all.
    ///
    /// - Throws: ``NewHashKey``; ``OtherHashKey``; ``PostgresError``.
    package static func require(_ key: HashKey, on connection: isolated Connection) throws {
        guard try !isKnown(key, on: connection) else { return }
        try refuseNew(key, on: connection)
        try remember(key, on: connection)
    }

    /// Stores the canary of a key even beside others; from then on a wrong key cannot be told from an intended one.
    ///
    /// - Throws: ``OtherHashKey``; ``PostgresError``.
    package static func introduce(_ key: HashKey, on connection: isolated Connection) throws {
        guard try !isKnown(key, on: connection) else { return }
        try remember(key, on: connection)
    }

    private static func remember(_ key: HashKey, on connection: isolated Connection) throws {
        guard try mayUse("insert", on: connection) else { return }
        try connection.execute(
            """
            insert into accountctl.hash_key_canaries (key_id, canary)
            values (\(key.id.text), \(key.canary()))
            on conflict (key_id) do nothing
            """
        )
        // A concurrent session with another key may have stored its canary first.
        _ = try isKnown(key, on: connection)
    }

    /// Whether the table of canaries exists and our role has this privilege on it.
    private static func mayUse(_ right: String, on connection: isolated Connection) throws -> Bool {
        try connection.one(
            "select coalesce(has_table_privilege(to_regclass('accountctl.hash_key_canaries'), \(right)), false)",
            as: Bool.self
        )
    }

    /// Whether the key's canary is stored.
    private static func isKnown(_ key: HashKey, on connection: isolated Connection) throws -> Bool {
        guard try mayUse("select", on: connection) else { return false }
        let stored = try connection.first(
            "select canary from accountctl.hash_key_canaries where key_id = \(key.id.text)",
            as: [UInt8].self
        )
        if let stored {
            guard stored == key.canary() else { throw OtherHashKey(key: key.id) }
            return true
        }
        // The key may be older than the canaries; then its receipts tell.
        let verdicts = try IssuedReceipt.newest(Self.receipts, under: key.id, on: connection).map {
            try $0.check(with: key)
        }
        guard verdicts.isEmpty || verdicts.contains(.intact) else { throw OtherHashKey(key: key.id) }
        return false
    }
}
