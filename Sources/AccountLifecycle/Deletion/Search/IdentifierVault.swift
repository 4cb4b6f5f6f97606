import Postgres
package import Sealing

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Keeps the identifiers of a request sealed between its steps, and computes the lasting hash of its user id.
package struct IdentifierVault: Sendable {
    package let keys: KeyRing
    package let hashKey: HashKey

    package init(keys: KeyRing, hashKey: HashKey) {
        self.keys = keys
        self.hashKey = hashKey
    }

    /// Seals identifiers, bound to the request and its user.
    func seal(_ identifiers: [Identifier], request: UUID, user: UUID) throws -> SealedText {
        let plain = try JSONEncoder().encode(identifiers)
        let context = Self.context(request: request, user: user)
        let sealed = keys.seal(Secret(Array(plain)), for: context)
        // Text that cannot be opened again would otherwise be noticed only after the account is gone.
        _ = try keys.open(sealed, for: context)
        return sealed
    }

    /// Opens what ``seal(_:request:user:)`` made.
    ///
    /// - Throws: ``SealingError`` naming the key that is missing or does not fit.
    func open(_ stored: String, request: UUID, user: UUID) throws -> [Identifier] {
        let plain = try keys.openText(stored, for: Self.context(request: request, user: user))
        return try JSONDecoder().decode([Identifier].self, from: Data(plain.reveal().utf8))
    }

    /// Whether some keys open what was sealed for a request.
    static func opens(_ stored: String, with keys: KeyRing, request: UUID, user: UUID) -> Bool {
        (try? keys.openText(stored, for: context(request: request, user: user))) != nil
    }

    /// The hash that represents a user from the receipt on.
    package func subject(_ user: UUID) -> SubjectHash {
        SubjectHash(user, key: hashKey)
    }

    private static func context(request: UUID, user: UUID) -> SealingContext {
        SealingContext(
            purpose: "deletion-identifiers",
            ids: [request.text, user.text]
        )
    }
}
