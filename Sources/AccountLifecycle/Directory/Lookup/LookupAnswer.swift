#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The answer to a lookup.
package struct LookupAnswer: Sendable, Equatable {
    package let term: LookupTerm
    /// The accounts that match, at most as many as the limit.
    package let matches: [AccountMatch]
    /// Whether there are more than the answer holds.
    package let isCut: Bool
    package let erased: [ErasedAccount]
    /// Known by user id and by request only: everything else about them is sealed.
    package let leaving: [LeavingAccount]
    /// Whether our own tables exist.
    package let isInstalled: Bool
    /// Why the lookup cannot tell whether there was such an account; nil if the answer has one, or it is certain that
    /// there was none.
    package let doubt: LookupDoubt?
    /// Whether usernames could be compared.
    let usernames: Usernames

    /// Whether no account is known: none exists, none was erased and none is being erased.
    package var isAbsent: Bool { matches.isEmpty && erased.isEmpty && leaving.isEmpty }

    /// The user id that was typed, if that account is gone; an existing account may have the same id at a provider.
    package var goneUserID: UUID? {
        guard let id = term.userID, !matches.contains(where: \.isNamedByID) else { return nil }
        let isGone = leaving.contains { $0.id == id } || erased.contains { $0.request != id }
        return isGone ? id : nil
    }

    /// Why the start of a term was not compared with values of a kind.
    package enum NotCompared: Sendable, Hashable {
        /// Erased accounts are found only by their whole id.
        case wholeErasedIDs
        /// The term has fewer hexadecimal digits than this.
        case hexadecimalDigits(Int)
        /// The term has fewer digits than this.
        case digits(Int)
        /// The term contains spaces, and no address does.
        case blanks
        /// The kind has to be given explicitly.
        case unlessNamed
        /// There are no profiles with usernames.
        case noUsernames
        /// No index serves a search for the start of a username.
        case noIndex
        /// The term is not a whole number.
        case wholeNumbers
    }

    /// The kinds with which the start of a term was not compared, and why; empty for other comparisons.
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
