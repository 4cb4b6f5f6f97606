import Crypto

/// A key for hashes by which a value can be found again and cannot be guessed: HMAC-SHA256.
///
/// It is not one of the sealing keys, and it does not rotate: with another key nothing that was hashed is found.
package struct HashKey: Sendable {
    /// The key's name.
    package let id: KeyID
    private let bytes: Secret<[UInt8]>

    /// Reads the text of a key file with exactly one `id:base64` line.
    ///
    /// - Throws: ``KeyRingProblems`` when there is another number of keys, or the key is wrong.
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

    /// Whether the key also seals, which it must not.
    package func isIn(_ ring: KeyRing) -> Bool {
        ring.contains(bytes: bytes)
    }

    /// Hashes a value for a purpose; the same value has unrelated hashes for two purposes.
    ///
    /// - Parameters:
    ///   - value: The value, in the one spelling that is meant (for a UUID: lower case).
    ///   - purpose: A fixed name such as `erased-user`.
    /// - Returns: 32 bytes.
    package func hash(_ value: String, purpose: String) -> [UInt8] {
        var hash = hashing(purpose: purpose)
        hash.add(value)
        return hash.bytes
    }

    /// Begins a hash for a purpose over texts that come one after another: that of all of them as one text.
    package func hashing(purpose: String) -> RunningHash {
        RunningHash(key: SymmetricKey(data: bytes.reveal()), purpose: purpose)
    }

    /// A hash that tells whether the key is still the one that made the stored hashes.
    package func canary() -> [UInt8] {
        hash("canary", purpose: "hash-key-canary")
    }
}

extension KeyRing {
    var onlyKey: SealingKey? {
        ids.count == 1 ? ids.first.flatMap { key(named: $0) } : nil
    }
}
