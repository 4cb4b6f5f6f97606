package import Postgres
package import Sealing

/// The hash key at hand is another one than the one that hashed here under its name.
package struct OtherHashKey: Error, Sendable, Hashable, CustomStringConvertible {
    /// The name that both have.
    let key: KeyID

    package var description: String { "\"\(key)\" is not the hash key that was used here under that name" }
}

/// Tells another hash key of the same name from the one that made the hashes in this database.
///
/// With the wrong one nothing fails by itself: receipts look changed, erased accounts as if they had never been.
package enum HashKeyCanary {
    /// How many receipts are tried where no canary was stored yet; one of them may have been changed.
    private static let receipts = 20

    /// Checks a key before something is looked for by its hashes; changes nothing.
    ///
    /// A schema of an earlier version, which knows no canaries, is taken as it is.
    ///
    /// - Throws: ``OtherHashKey``; ``PostgresError``.
    package static func check(_ key: HashKey, on connection: isolated Connection) throws {
        _ = try isKnown(key, on: connection)
    }

    /// How a key stands beside the others that something was hashed with here.
    package enum Standing: Sendable, Hashable {
        /// It is the only one, or there is none yet.
        case alone
        /// Nothing was hashed with it, and something with these keys.
        case unknown(others: [String])
        /// It came after these keys: what was hashed with them is not found by it.
        case newest(others: [String])
        /// These keys came after it.
        case older(others: [String])

        /// The other keys, by name.
        package var others: [String] {
            switch self {
            case .alone: []
            case .unknown(let others), .newest(let others), .older(let others): others
            }
        }
    }

    /// Tells how a key stands; changes nothing.
    ///
    /// Receipts tell of keys that are older than the canaries: the first one, and the newest.
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

    /// Refuses a key that is new beside others; changes nothing.
    ///
    /// - Throws: ``NewHashKey``; ``OtherHashKey``; ``PostgresError``.
    package static func refuseNew(_ key: HashKey, on connection: isolated Connection) throws {
        guard case .unknown(let others) = try standing(of: key, on: connection) else { return }
        throw NewHashKey(key: key.id, others: others)
    }

    /// Checks a key before something is hashed with it, and remembers it when it is the first one of all.
    ///
    /// - Throws: ``NewHashKey``; ``OtherHashKey``; ``PostgresError``.
    package static func require(_ key: HashKey, on connection: isolated Connection) throws {
        guard try !isKnown(key, on: connection) else { return }
        try refuseNew(key, on: connection)
        try remember(key, on: connection)
    }

    /// Makes a key known, also beside others: from then on nothing tells it from one that was meant.
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
        // Somebody with another key may have been first.
        _ = try isKnown(key, on: connection)
    }

    /// Whether there are canaries, and our role may do this with them.
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
        // Older than the canaries, perhaps: then its receipts tell.
        let verdicts = try IssuedReceipt.newest(Self.receipts, under: key.id, on: connection).map {
            try $0.check(with: key)
        }
        guard verdicts.isEmpty || verdicts.contains(.intact) else { throw OtherHashKey(key: key.id) }
        return false
    }
}
