#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The walk over all accounts by id: from some account to the last, then again from the first, until a whole round
/// finds nobody.
///
/// No page reads the accounts before it again; users asked about in vain are found by the next round.
struct TransferWalk: Sendable, Hashable {
    /// The walk continues after this account; nil for the start.
    private(set) var position: UUID?
    /// The end of the last page with a user that was due.
    private var mark: UUID
    /// How often the walk has started from the first account since then.
    private var turns = 0

    /// Whether a whole round has found nobody.
    var isOver: Bool {
        guard turns < 2 else { return true }
        guard turns == 1, let position else { return false }
        return position >= mark
    }

    /// Creates a walk that starts after an account.
    init(after start: UUID) {
        (position, mark) = (start, start)
    }

    /// Continues after a page.
    ///
    /// - Parameters:
    ///   - last: The last account of the page; nil if there was none.
    ///   - hasFound: Whether a user on the page is due.
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
