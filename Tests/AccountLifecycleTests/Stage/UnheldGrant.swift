/// A grant that cannot be revoked here, because its token or Apple's answer was lost.
enum UnheldGrant: Sendable, CaseIterable {
    case lost
    case unknown
}
