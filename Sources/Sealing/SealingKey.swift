import Crypto

/// The name of a key: 1 to 32 letters, digits, `-` and `_`.
///
/// The name is stored with every value that the key sealed.
package struct KeyID: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The name as written.
    package let text: String

    /// Validates a name; nil if it has another form.
    package init?(_ text: String) {
        guard (1...32).contains(text.utf8.count), text.utf8.allSatisfy(Self.isAllowed) else { return nil }
        self.text = text
    }

    /// The name.
    package var description: String { text }

    /// Orders by text.
    package static func < (left: KeyID, right: KeyID) -> Bool { left.text < right.text }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default:
            false
        }
    }
}

/// A named 256-bit key.
package struct SealingKey: Sendable {
    /// The length of a key in bytes.
    static let byteCount = 32

    /// The key's name.
    package let id: KeyID
    let bytes: Secret<[UInt8]>

    /// Creates a key from its bytes; nil unless there are 32.
    init?(id: KeyID, bytes: Secret<[UInt8]>) {
        guard bytes.reveal().count == Self.byteCount else { return nil }
        self.id = id
        self.bytes = bytes
    }

    /// Generates a random key.
    package static func random(id: KeyID) -> SealingKey {
        SealingKey(id: id, raw: SymmetricKey(size: .bits256).withUnsafeBytes { Secret(Array($0)) })
    }

    private init(id: KeyID, raw: Secret<[UInt8]>) {
        self.id = id
        self.bytes = raw
    }

    /// The line of a key file that holds this key: `id:base64`.
    package var fileLine: Secret<String> {
        bytes.map { "\(id):\(Base64.encode($0))" }
    }

    var symmetricKey: SymmetricKey {
        SymmetricKey(data: bytes.reveal())
    }
}
