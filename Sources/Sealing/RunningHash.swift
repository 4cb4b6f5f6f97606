import Crypto

/// A keyed hash over successive texts that need not be held in memory together; see ``HashKey``.
package struct RunningHash {
    private var code: HMAC<SHA256>

    init(key: SymmetricKey, purpose: String) {
        code = HMAC<SHA256>(key: key)
        // The purpose is a fixed name without a zero byte, so purpose and texts cannot be confused.
        code.update(data: Array(purpose.utf8))
        code.update(data: [0])
    }

    /// Adds a text.
    package mutating func add(_ text: String) {
        code.update(data: Array(text.utf8))
    }

    /// The hash of the texts added so far: 32 bytes.
    package var bytes: [UInt8] { Array(code.finalize()) }
}
