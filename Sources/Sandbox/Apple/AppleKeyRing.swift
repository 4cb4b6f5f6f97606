/// The signing keys in use: several at a time, identity tokens and notifications signed by different ones.
struct AppleKeyRing: Sendable {
    /// How many keys are published at once, as seen in the field.
    static let size = 3

    private(set) var published: [AppleSigningKey] = []
    private var made = 0

    init() throws {
        for _ in 0..<Self.size { published.append(try makeKey()) }
    }

    /// The key of identity tokens.
    var identityKey: AppleSigningKey { published[published.count - 1] }

    /// The key of notifications, not the one of identity tokens.
    var notificationKey: AppleSigningKey { published[published.count - 2] }

    /// Publishes a new key, which signs from now on, and withdraws the oldest.
    mutating func rotate() throws {
        published.append(try makeKey())
        published.removeFirst()
    }

    /// Withdraws all keys and publishes others: what clients with cached keys find hardest.
    mutating func replaceAll() throws {
        published = []
        for _ in 0..<Self.size { published.append(try makeKey()) }
    }

    private mutating func makeKey() throws -> AppleSigningKey {
        // Pairs return in turn under new names; a ring never publishes one pair twice at a time.
        defer { made += 1 }
        return AppleSigningKey(
            id: RandomText.token(length: 7).replacing("-", with: "x").replacing("_", with: "y"),
            key: try SigningKeyPairs.pair(made % (2 * Self.size))
        )
    }
}
