#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension AccountReport {
    /// Something about the account that needs attention.
    package enum Warning: Sendable, Hashable {
        /// The account signs in with Apple, and there is no credential with which an erasure could revoke at Apple.
        case noCredential
        /// Rows of the app forbid deleting the account, or may forbid it if they were not counted.
        case blockingRows(Dependent)
        /// The person has switched off the forwarding of Apple's relay.
        case forwardingOff
        /// Its deletion makes no progress.
        case stopped(Situation, request: UUID)
        /// Its deletion is paused individually.
        case paused(request: UUID)
        /// It is under a legal hold.
        case held
        /// Its ban has an infinite end, which Supabase cannot read.
        case endlessBan
        /// Supabase soft-deleted the account and left its data.
        case softDeleted
        /// It has no identity.
        case noIdentity
    }

    /// What needs attention.
    package var warnings: [Warning] {
        var warnings: [Warning] = []
        if credentials.isEmpty, openDeletion?.isRevoking != true,
            identities.contains(where: { $0.provider == "apple" })
        {
            warnings.append(.noCredential)
        }
        warnings += dependents.filter { ["no action", "restrict"].contains($0.onDelete) && $0.rows != 0 }
            .map(Warning.blockingRows)
        if relay?.forwarding == .off { warnings.append(.forwardingOff) }
        if let deletion = openDeletion {
            if let situation = deletion.situation {
                warnings.append(.stopped(situation, request: deletion.request))
            }
            if deletion.isPaused { warnings.append(.paused(request: deletion.request)) }
        }
        if !holds.isEmpty { warnings.append(.held) }
        if let ban = authUser.ban, ban.until == nil { warnings.append(.endlessBan) }
        if case .softDeleted = standing { warnings.append(.softDeleted) }
        if identities.isEmpty, !authUser.isAnonymous { warnings.append(.noIdentity) }
        return warnings
    }
}
