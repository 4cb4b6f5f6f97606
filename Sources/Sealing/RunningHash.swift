import Crypto

/// A keyed hash over texts that come one after another, and need not be held together; see ``HashKey``.
package struct RunningHash {
    private var code: HMAC<SHA256>

    init(key: SymmetricKey, purpose: String) {
        code = HMAC<SHA256>(key: key)
        // The purpose is a name of our own without a zero byte: purpose and texts cannot run into each other.
        code.update(data: Array(purpose.utf8))
        code.update(data: [0])
    }

    /// Adds a text.
    package mutating func add(_ text: String) {
        code.update(data: Array(text.utf8))
    }

    /// The hash of what was added so far: 32 bytes.
    package var bytes: [UInt8] { Array(code.finalize()) }
}
