#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Decides what an event means for an account.
///
/// A pure function of what is known.
package enum CredentialRules {
    /// What is known about the account at the moment of deciding.
    struct Facts: Sendable, Hashable {
        /// The newest sign-in with the Apple identity that the event is about, by the auth server's clock.
        var newestSignIn: Date?
        /// When the newest held credential was obtained.
        var newestCredential: Date?
        /// When it is last known that a held credential lived: obtained, or seen alive by a check.
        var newestProofOfLife: Date?
        /// Whether an erasure has begun for good: our own revocation comes back as an event.
        var isBeingErased = false
        /// Whether the account is locked out for an erasure that may still be cancelled.
        var isLockedOut = false
        /// Whether the account still has the Apple identity that the event is about.
        var hasIdentity = true
        /// Whether the person can sign in without the Apple identity that the event is about.
        var hasOtherWayIn = false
    }

    /// What to do.
    enum Decision: Sendable, Hashable {
        /// Nothing; the outcome to record.
        case nothing(Outcome)
        /// Wait until it is known whether the account goes: it may be let go yet.
        case wait
        /// These, recorded as the outcome.
        case react(Set<CredentialReaction>, mark: Mark, outcome: Outcome = .done)
        /// Ask Apple first whether the grant lives.
        case confirm
        /// Note that the identity moves to another team, unless Apple said something else.
        case noteTransfer
    }

    /// What is marked on the identity.
    enum Mark: String, Sendable, Hashable {
        case consentRevoked = "consent_revoked"
        case accountDeleted = "account_deleted"
        case transferred
    }

    /// What became of an event; stored and shown.
    package enum Outcome: String, Sendable, Hashable, CaseIterable {
        /// The reactions of the policy were carried out.
        case done
        /// All reactions but a deletion were carried out: the person has another way to sign in than with Apple.
        case otherSignIn = "other_sign_in"
        /// The policy says to do nothing.
        case noReaction = "no_reaction"
        /// It happened before the newest sign-in or before the credential was obtained.
        case stale
        /// The account's erasure has begun for good: the echo of our own revocation, or too late to matter.
        case echo
        /// No account has this identity.
        case unknownAccount = "unknown_account"
        /// A type that nobody documented.
        case unknownType = "unknown_type"
        /// Only the device is concerned.
        case deviceOnly = "device_only"
        /// Noted, nothing to do.
        case noted
        /// Apple says that the grant lives, whatever the device saw.
        case notConfirmed = "not_confirmed"
        /// Apple gave no answer for a day, or none that shows anything, or had been asked on a device's word within one:
        /// left to the daily check.
        case notConfirmable = "not_confirmable"
        /// There is no credential by which Apple could be asked.
        case nothingHeld = "nothing_held"
        /// Forwarding of a relay address was switched.
        case forwarding
        /// An event about forwarding that names no address.
        case notTracked = "not_tracked"
    }

    static func decide(_ event: CredentialEvent, _ facts: Facts, policy: CredentialPolicy) -> Decision {
        guard event.user != nil else { return .nothing(.unknownAccount) }
        switch event.kind {
        case .consentRevoked:
            return ended(event, facts, policy.consentRevoked, .consentRevoked)
        case .accountDeleted:
            return ended(event, facts, policy.accountDeleted, .accountDeleted)
        case .grantGone:
            return ended(event, facts, reactionsToGrantGone(facts, policy), .consentRevoked)
        case .stateRevoked:
            return obstacle(to: event, facts) ?? .confirm
        case .stateTransferred:
            return .noteTransfer
        case .stateNotFound:
            // Another Apple Account on the device, or a build with a wrong team: nothing is known about the account.
            return .nothing(.deviceOnly)
        case .stateAuthorized:
            return .nothing(.noted)
        case .emailEnabled, .emailDisabled:
            return .nothing(.notTracked)
        case .other:
            return .nothing(.unknownType)
        }
    }

    private static func ended(
        _ event: CredentialEvent,
        _ facts: Facts,
        _ reactions: Set<CredentialReaction>,
        _ mark: Mark
    ) -> Decision {
        if let obstacle = obstacle(to: event, facts) { return obstacle }
        let (permitted, outcome) = permitted(reactions, facts)
        return permitted.isEmpty ? .nothing(outcome) : .react(permitted, mark: mark, outcome: outcome)
    }

    /// Whether an event says that the account's relay address is not forwarded any more: it went with the Apple Account,
    /// which is no reaction of the policy.
    static func endsForwarding(_ event: CredentialEvent, _ facts: Facts) -> Bool {
        event.kind == .accountDeleted && obstacle(to: event, facts) == nil
    }

    /// What keeps an end that is told from being heeded, now or for good.
    private static func obstacle(to event: CredentialEvent, _ facts: Facts) -> Decision? {
        if facts.isBeingErased { return .nothing(.echo) }
        if isStale(event, facts) { return .nothing(.stale) }
        return facts.isLockedOut ? .wait : nil
    }

    /// What of the policy's reactions may be done, and the outcome to record.
    ///
    /// Whoever unlinked Apple lives on without it: only what is dead is forgotten. A deletion cannot be undone, and an
    /// account with another way in lives on without Apple, too: it is marked instead.
    static func permitted(
        _ reactions: Set<CredentialReaction>,
        _ facts: Facts
    ) -> (reactions: Set<CredentialReaction>, outcome: Outcome) {
        let reactions = facts.hasIdentity ? reactions : reactions.intersection([.forgetCredential])
        if reactions.isEmpty { return ([], .noReaction) }
        guard reactions.contains(.requestDeletion), facts.hasOtherWayIn else { return (reactions, .done) }
        return (reactions.subtracting([.requestDeletion]).union([.markIdentity]), .otherSignIn)
    }

    /// What the policy has follow where Apple refuses a stored token, whoever had it asked.
    ///
    /// The token may have died before the person came back with a new grant, of which we were given no code: then only
    /// the token is to be forgotten.
    static func reactionsToGrantGone(_ facts: Facts, _ policy: CredentialPolicy) -> Set<CredentialReaction> {
        guard let signIn = facts.newestSignIn, let proof = facts.newestProofOfLife, signIn > proof else {
            return policy.grantGone
        }
        return policy.grantGone.intersection([.forgetCredential])
    }

    /// Whether the person came back after it happened.
    ///
    /// Equal times count as stale: a lost sign-out is made up for by the daily check, a person signed out by an old
    /// event is not.
    private static func isStale(_ event: CredentialEvent, _ facts: Facts) -> Bool {
        [facts.newestSignIn, facts.newestCredential].contains { moment in
            moment.map { event.happenedAt <= $0 } ?? false
        }
    }
}
