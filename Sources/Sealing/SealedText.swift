/// A sealed value in its stored form: `v1.<key id>.<base64url of nonce, ciphertext and tag>`.
///
/// The text names its key, so a ring with many keys needs no search, and an error can name a missing key.
package struct SealedText: Sendable, Hashable {
    static let version = "v1"

    /// The whole text.
    package let text: String
    /// The name of the key that opens it.
    package let keyID: KeyID
    let box: [UInt8]

    /// Parses stored text; nil if it has another form.
    package init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == Self.version, let keyID = KeyID(String(parts[1])),
            let box = Base64.decode(parts[2], alphabet: .urlSafe), box.count >= 12 + 16
        else { return nil }
        self.text = text
        self.keyID = keyID
        self.box = box
    }

    init(keyID: KeyID, box: [UInt8]) {
        self.text = "\(Self.version).\(keyID).\(Base64.encode(box, alphabet: .urlSafe))"
        self.keyID = keyID
        self.box = box
    }
}

extension SealedText: CustomStringConvertible {
    /// Only the name of the key; the text itself is of no use in a log.
    package var description: String { "sealed with \(keyID)" }
}
