/// The current signing keys, several at a time; identity tokens and notifications are signed with different ones.
struct AppleKeyRing: Sendable {
    /// How many keys are published at once, as observed in practice.
    static let size = 3

    private(set) var published: [AppleSigningKey] = []
    private var made = 0

    init() throws {
        for _ in 0..<Self.size { published.append(try makeKey()) }
    }

    /// The key that signs identity tokens.
    var identityKey: AppleSigningKey { published[published.count - 1] }

    /// The key that signs notifications, different from the one for identity tokens.
    var notificationKey: AppleSigningKey { published[published.count - 2] }

    /// Publishes a new key, which signs from now on, and withdraws the oldest.
    mutating func rotate() throws {
        published.append(try makeKey())
        published.removeFirst()
    }

    /// Replaces all keys at once, the hardest case for clients with cached keys.
    mutating func replaceAll() throws {
        published = []
        for _ in 0..<Self.size { published.append(try makeKey()) }
    }

    private mutating func makeKey() throws -> AppleSigningKey {
        // Key pairs are reused in turn under new names; a ring never publishes the same pair twice at once.
        defer { made += 1 }
        return AppleSigningKey(
            id: RandomText.token(length: 7).replacing("-", with: "x").replacing("_", with: "y"),
            key: try SigningKeyPairs.pair(made % (2 * Self.size))
        )
    }
}
