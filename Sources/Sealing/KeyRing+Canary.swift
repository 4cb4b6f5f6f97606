extension KeyRing {
    /// The result of checking a key against its canary.
    package enum CanaryCheck: Sendable, Hashable {
        /// The ring's key of this name made the canary.
        case same
        /// The ring's key of this name is another key than the one that made the canary.
        case different(KeyID)
        /// The ring has no key of this name.
        case missing(KeyID)
        /// Not a canary.
        case malformed
    }

    private static let canaryContext = SealingContext(purpose: "key-canary", ids: [])
    private static let canaryText = "this key is the one that sealed the rest"

    /// A known text sealed with a key, to be stored when the key is first used; nil if the ring lacks the key.
    package func canary(of id: KeyID) -> SealedText? {
        key(named: id).map { Self.seal(Secret(Array(Self.canaryText.utf8)), for: Self.canaryContext, with: $0) }
    }

    /// Checks whether the ring's key is the one that made a stored canary.
    package func check(canary stored: String) -> CanaryCheck {
        guard let sealed = SealedText(stored) else { return .malformed }
        guard contains(sealed.keyID) else { return .missing(sealed.keyID) }
        guard let text = try? openText(stored, for: Self.canaryContext), text.reveal() == Self.canaryText else {
            return .different(sealed.keyID)
        }
        return .same
    }
}
