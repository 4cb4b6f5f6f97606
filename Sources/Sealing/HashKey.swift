import Crypto

/// A key for HMAC-SHA256 hashes, which allow a value to be looked up but not guessed.
///
/// The key is separate from the sealing keys and does not rotate: with another key, no stored hash would be found.
package struct HashKey: Sendable {
    /// The key's name.
    package let id: KeyID
    private let bytes: Secret<[UInt8]>

    /// Parses the text of a key file with exactly one `id:base64` line.
    ///
    /// - Throws: ``KeyRingProblems`` if the number of keys is not one, or the key is invalid.
    package init(fileText text: Secret<String>) throws(KeyRingProblems) {
        let ring = try KeyRing(fileText: text)
        guard ring.ids.count == 1, let key = ring.onlyKey else {
            throw KeyRingProblems(problems: [.init(line: 0, kind: .severalKeys(ring.ids.count))])
        }
        self.init(key)
    }

    /// Uses a key for hashes.
    package init(_ key: SealingKey) {
        id = key.id
        bytes = key.bytes
    }

    /// Whether the ring also contains this key, which must not happen.
    package func isIn(_ ring: KeyRing) -> Bool {
        ring.contains(bytes: bytes)
    }

    /// Hashes a value for a purpose; the same value has unrelated hashes for different purposes.
    ///
    /// - Parameters:
    ///   - value: The value in its canonical spelling (for a UUID: lower case).
    ///   - purpose: A fixed name such as `erased-user`.
    /// - Returns: 32 bytes.
    package func hash(_ value: String, purpose: String) -> [UInt8] {
        var hash = hashing(purpose: purpose)
        hash.add(value)
        return hash.bytes
    }

    /// Starts a hash for a purpose over successive texts, equal to the hash of their concatenation.
    package func hashing(purpose: String) -> RunningHash {
        RunningHash(key: SymmetricKey(data: bytes.reveal()), purpose: purpose)
    }

    /// A hash that shows whether the key is still the one that made the stored hashes.
    package func canary() -> [UInt8] {
        hash("canary", purpose: "hash-key-canary")
    }
}

extension KeyRing {
    var onlyKey: SealingKey? {
        ids.count == 1 ? ids.first.flatMap { key(named: $0) } : nil
    }
}
