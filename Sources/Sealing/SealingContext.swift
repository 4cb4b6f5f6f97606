/// The purpose and the owner of a sealed value.
///
/// The context is bound to the value as associated data rather than stored with it, so that a value moved to another
/// row, user or purpose does not open.
package struct SealingContext: Sendable, Hashable {
    /// A fixed name such as `apple-refresh-token`.
    package let purpose: String
    /// The ids of the owner, in a fixed order.
    let ids: [String]

    /// Creates a context from a purpose and the ids.
    package init(purpose: String, ids: [String]) {
        self.purpose = purpose
        self.ids = ids
    }

    /// All parts, each preceded by its length, so that no two contexts have the same bytes.
    func associatedData(version: String, key: KeyID) -> [UInt8] {
        var bytes: [UInt8] = []
        for part in [version, key.text, purpose] + ids {
            let count = UInt32(part.utf8.count)
            bytes.append(contentsOf: [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) })
            bytes.append(contentsOf: part.utf8)
        }
        return bytes
    }
}
