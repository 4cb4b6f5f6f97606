/// What a sealed value is for and whom it belongs to.
///
/// It is not stored with the value: it is bound to it as associated data, so that a value moved to another row, user
/// or purpose does not open.
package struct SealingContext: Sendable, Hashable {
    /// A fixed name such as `apple-refresh-token`.
    package let purpose: String
    /// The ids that the value belongs to, in a fixed order.
    let ids: [String]

    /// Names a purpose and the ids.
    package init(purpose: String, ids: [String]) {
        self.purpose = purpose
        self.ids = ids
    }

    /// All parts with their lengths in front: no two contexts have the same bytes.
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
