import Sealing

extension SealingKey {
    /// A new random key of that name.
    static func named(_ text: String) throws -> SealingKey {
        guard let id = KeyID(text) else { throw Unexpected("the name of a key: \(text)") }
        return .random(id: id)
    }
}
