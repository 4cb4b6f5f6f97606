/// A grant that nobody here can revoke: its token or Apple's answer was lost.
enum UnheldGrant: Sendable, CaseIterable {
    case lost
    case unknown
}
