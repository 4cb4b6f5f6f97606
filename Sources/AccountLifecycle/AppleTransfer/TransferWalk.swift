#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The way over all accounts, in the order of their ids: from somewhere to the last, on from the first, and so on until
/// a whole round has found nobody.
///
/// Nothing that lies behind is read again for the next page; who was asked in vain is found by the next round.
struct TransferWalk: Sendable, Hashable {
    /// The accounts after this one come next; nil for the first of all.
    private(set) var position: UUID?
    /// The end of the last page with somebody on it.
    private var mark: UUID
    /// How often the way began anew since then.
    private var turns = 0

    /// Whether a whole round has found nobody.
    var isOver: Bool {
        guard turns < 2 else { return true }
        guard turns == 1, let position else { return false }
        return position >= mark
    }

    /// A way that begins after an account.
    init(after start: UUID) {
        (position, mark) = (start, start)
    }

    /// Goes on behind a page.
    ///
    /// - Parameters:
    ///   - last: The last account of it; nil when there was none.
    ///   - hasFound: Whether somebody on it is to be asked about.
    mutating func pass(_ last: UUID?, hasFound: Bool) {
        position = last
        guard let last else {
            turns += 1
            return
        }
        guard hasFound else { return }
        (mark, turns) = (last, 0)
    }
}
