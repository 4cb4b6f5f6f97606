package import Postgres
package import Sealing

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Identifies an account where its id must not be stored: in receipts, in the operators' log, in ended requests.
///
/// The same account has the same hash everywhere, so everything done to it can be found by the user id and the key.
package struct SubjectHash: Sendable, Hashable {
    /// The name of the key that made the hash.
    package let keyID: String
    /// HMAC-SHA256 of the user id in lower case.
    package let bytes: [UInt8]

    /// Hashes a user id.
    package init(_ user: UUID, key: HashKey) {
        keyID = key.id.text
        bytes = key.hash(user.text, purpose: "account")
    }

    /// Hashes a user id to search for what was hashed here before.
    ///
    /// - Throws: ``OtherHashKey`` if this key could find nothing; `PostgresError`.
    package static func checked(_ user: UUID, key: HashKey, on connection: isolated Connection) throws -> SubjectHash {
        try HashKeyCanary.check(key, on: connection)
        return SubjectHash(user, key: key)
    }

    /// A hash as a row stores it; nil if the row has none.
    init?(keyID: String?, bytes: [UInt8]?) {
        guard let keyID, let bytes else { return nil }
        self.keyID = keyID
        self.bytes = bytes
    }

    /// Parses what ``hexadecimal`` returns; nil for any other text.
    package init?(keyID: String, hexadecimal: String) {
        let digits = hexadecimal.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue.map(UInt8.init) }
        guard digits.count == 64, hexadecimal.utf8.count == 64, !keyID.isEmpty else { return nil }
        self.keyID = keyID
        bytes = stride(from: 0, to: 64, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    /// The hash in hexadecimal digits.
    package var hexadecimal: String { bytes.hexadecimal }
}
