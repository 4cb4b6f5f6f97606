#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// An account that a lookup found.
package struct AccountMatch: Sendable, Equatable {
    package let id: UUID
    /// What of the term matched.
    package let matched: [LookupKind]
    package let email: String?
    package let phone: String?
    package let providers: [String]
    package let createdAt: Date?
    package let lastSignInAt: Date?
    package let standing: AccountStanding
    /// Whether a legal hold forbids erasing it.
    package let isHeld: Bool
}

/// In what state an account is.
package enum AccountStanding: Sendable, Equatable {
    /// Usable.
    case active
    /// May not sign in.
    case banned(AccountBan)
    /// Deleted by GoTrue's soft delete: the row, the profile and the app's data are still there.
    case softDeleted(at: Date)
    /// Somebody asked for it to be erased.
    case deletion(DeletionInBrief)

    /// The state as a stable word.
    package var word: String {
        switch self {
        case .active: "active"
        case .banned: "banned"
        case .softDeleted: "soft_deleted"
        case .deletion(let deletion): "deletion_\(deletion.state)"
        }
    }
}

/// The open deletion request of an account.
package struct DeletionInBrief: Sendable, Equatable {
    package let request: UUID
    package let state: String
    /// The step that was begun last.
    package let step: String?
    package let requestedAt: Date
    package let legalDeadline: Date
}

/// What a term that no account matches tells of one that is gone.
package struct ErasedAccount: Sendable, Equatable {
    package let request: UUID
    package let requestedAt: Date
    package let erasedAt: Date
    /// nil while the receipt has not been written.
    package let receipt: Int64?
}

/// An account that is gone and whose erasure is not finished: what is left of it is searched for, or waits for somebody.
package struct LeavingAccount: Sendable, Equatable {
    package let id: UUID
    package let deletion: DeletionInBrief
}

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
    /// Whether an id was given and nothing could tell if it is that of an erased account: for want of the hash key, or because it is the
    /// start of one, or since others were erased under another key.
    package let isErasureUnknown: Bool
    /// The hash keys, by name, under which an account of this id may have been erased, which the one at hand does not find.
    package let otherHashKeys: [String]
    /// Whether usernames could be compared.
    package let usernames: Usernames

    /// Whether nothing is known of an account: there is none, none was erased and none is on its way.
    package var isAbsent: Bool { matches.isEmpty && erased.isEmpty && leaving.isEmpty }

    /// The kinds that the start of a term was not compared with, and why; empty for other comparisons.
    package var notCompared: [(kind: LookupKind, why: String)] {
        guard term.comparison == .prefix else { return [] }
        return LookupKind.allCases.filter { term.kind == nil || term.kind == $0 }.compactMap { kind in
            let why: String? =
                switch kind {
                case .userID where term.isStartOfUserID: "erased accounts: whole ids only"
                case .userID, .request:
                    term.ids == nil ? "from \(LookupTerm.fewestDigits.ofID) hexadecimal digits on" : nil
                case .email: term.email == nil ? "has no blanks" : nil
                case .phone: term.phone == nil ? "from \(LookupTerm.fewestDigits.ofPhone) digits on" : nil
                case .appleSub, .providerID: term.providerID == nil ? "only with --by" : nil
                case .username where term.username == nil: "only with --by"
                case .username:
                    switch usernames {
                    case .none: "no public.profiles with usernames"
                    case .unindexed: "no index on them"
                    case .indexed: nil
                    }
                case .receipt: term.receipt == nil ? "whole numbers only" : nil
                }
            return why.map { (kind, $0) }
        }
    }
}
