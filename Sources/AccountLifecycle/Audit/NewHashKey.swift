package import Sealing

/// The current hash key was never used here, and others were: it may be the wrong file.
package struct NewHashKey: Error, Sendable, Hashable, CustomStringConvertible {
    /// The name of the current hash key.
    package let key: KeyID
    /// The other keys' names.
    package let others: [String]

    package var description: String {
        "the hash key \"\(key)\" was never used here, and \(others.joined(separator: ", ")) was"
    }
}
