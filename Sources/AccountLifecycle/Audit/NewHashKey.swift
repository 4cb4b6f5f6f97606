package import Sealing

/// Nothing was hashed here with the hash key at hand, and something with others: it may be the wrong file.
package struct NewHashKey: Error, Sendable, Hashable, CustomStringConvertible {
    /// The name of the hash key at hand.
    package let key: KeyID
    /// The other keys' names.
    package let others: [String]

    package var description: String {
        "the hash key \"\(key)\" was never used here, and \(others.joined(separator: ", ")) was"
    }
}
