#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The answer to a lookup.
package struct LookupAnswer: Sendable, Equatable {
    package let term: LookupTerm
    /// The accounts that match, never more than the limit.
    package let matches: [AccountMatch]
    /// Whether there are more than are shown.
    package let isCut: Bool
    package let erased: [ErasedAccount]
    /// Known by user id and by request only: all else of them is sealed.
    package let leaving: [LeavingAccount]
    /// Whether our own tables are there.
    package let isInstalled: Bool
    /// Why nothing could tell whether there was such an account; nil where one is told, or it is certain that there was
    /// none.
    package let doubt: LookupDoubt?
    /// Whether usernames could be compared.
    let usernames: Usernames

    /// Whether nothing is known of an account: there is none, none was erased and none is on its way.
    package var isAbsent: Bool { matches.isEmpty && erased.isEmpty && leaving.isEmpty }

    /// The user id that was typed, where that account is gone: one that is there may have it as an id at a provider.
    package var goneUserID: UUID? {
        guard let id = term.userID, !matches.contains(where: \.isNamedByID) else { return nil }
        let isGone = leaving.contains { $0.id == id } || erased.contains { $0.request != id }
        return isGone ? id : nil
    }

    /// Why the start of a term was not compared with a kind.
    package enum NotCompared: Sendable, Hashable {
        /// Accounts that were erased are known by whole ids alone.
        case wholeErasedIDs
        /// It has fewer hexadecimal digits than that.
        case hexadecimalDigits(Int)
        /// It has fewer digits than that.
        case digits(Int)
        /// It has blanks, and no address has any.
        case blanks
        /// The kind has to be named.
        case unlessNamed
        /// There are no profiles with usernames.
        case noUsernames
        /// The usernames have no index that serves.
        case noIndex
        /// It is not a whole number.
        case wholeNumbers
    }

    /// The kinds that the start of a term was not compared with, and why; empty for other comparisons.
    package var notCompared: [(kind: LookupKind, why: NotCompared)] {
        guard term.comparison == .prefix else { return [] }
        return LookupKind.allCases.filter { term.kind == nil || term.kind == $0 }.compactMap { kind in
            let why: NotCompared? =
                switch kind {
                case .userID where term.isStartOfUserID: .wholeErasedIDs
                case .userID, .request:
                    term.ids == nil ? .hexadecimalDigits(LookupTerm.fewestDigits.ofID) : nil
                case .email where term.email == nil:
                    term.text.contains(where: \.isWhitespace) ? .blanks : .unlessNamed
                case .email: nil
                case .phone: term.phone == nil ? .digits(LookupTerm.fewestDigits.ofPhone) : nil
                case .appleSub, .providerID: term.providerID == nil ? .unlessNamed : nil
                case .username where term.username == nil: .unlessNamed
                case .username:
                    switch usernames {
                    case .none: .noUsernames
                    case .unindexed: .noIndex
                    case .indexed: nil
                    }
                case .receipt: term.receipt == nil ? .wholeNumbers : nil
                }
            return why.map { (kind, $0) }
        }
    }
}
