package import Postgres
package import Sealing

/// The hash key at hand is another one than the one that hashed here under its name.
package struct OtherHashKey: Error, Sendable, Hashable, CustomStringConvertible {
    /// The name that both have.
    package let key: KeyID

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

    /// Checks a key before something is hashed with it, and remembers it when it is the first of its name.
    ///
    /// - Throws: ``OtherHashKey``; ``PostgresError``.
    package static func require(_ key: HashKey, on connection: isolated Connection) throws {
        guard try !isKnown(key, on: connection) else { return }
        let mayAdd = try connection.one(
            "select coalesce(has_table_privilege(to_regclass('accountctl.hash_key_canaries'), 'insert'), false)",
            as: Bool.self
        )
        guard mayAdd else { return }
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

    /// Whether the key's canary is stored.
    private static func isKnown(_ key: HashKey, on connection: isolated Connection) throws -> Bool {
        let mayRead = try connection.one(
            "select coalesce(has_table_privilege(to_regclass('accountctl.hash_key_canaries'), 'select'), false)",
            as: Bool.self
        )
        guard mayRead else { return false }
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
