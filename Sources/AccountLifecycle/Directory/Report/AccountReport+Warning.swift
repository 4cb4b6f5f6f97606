#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension AccountReport {
    /// Something that somebody should look at.
    package enum Warning: Sendable, Hashable {
        /// It signs in with Apple, and erasing it cannot revoke there.
        case noCredential
        /// Rows of the app forbid deleting it, or may: where they were not counted.
        case blockingRows(Dependent)
        /// The person has switched off the forwarding of Apple's relay.
        case forwardingOff
        /// Its deletion stands still.
        case stopped(Situation, request: UUID)
        /// Its deletion is paused by itself.
        case paused(request: UUID)
        /// A legal hold lies on it.
        case held
        /// Its ban has a date that Supabase cannot read.
        case endlessBan
        /// Supabase deleted it, and left the rest.
        case softDeleted
        /// It has no identity.
        case noIdentity
    }

    /// What somebody should look at.
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
