#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Decides what an event means for an account, as a pure function of the known facts.
package enum CredentialRules {
    /// The facts about the account at the time of the decision.
    struct Facts: Sendable, Hashable {
        /// The newest sign-in with the Apple identity that the event is about, by GoTrue's clock.
        var newestSignIn: Date?
        /// When the newest held credential was obtained.
        var newestCredential: Date?
        /// When a held credential was last known to be valid: obtained, or confirmed by a check.
        var newestProofOfLife: Date?
        /// Whether the token that Apple refused is of the team that the app left.
        var isOfFormerTeam = false
        /// Whether an erasure can no longer be cancelled: our own revocation comes back as an event.
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
        /// Wait until it is known whether the account is erased: its deletion may still be cancelled.
        case wait
        /// Carry out these reactions, and record the mark and the outcome.
        case react(Set<CredentialReaction>, mark: Mark, outcome: Outcome = .done)
        /// First ask Apple whether the grant is valid.
        case confirm
        /// Record that the identity moves to another team, unless Apple said something else.
        case noteTransfer
    }

    /// What is recorded on the identity.
    enum Mark: String, Sendable, Hashable {
        case consentRevoked = "consent_revoked"
        case accountDeleted = "account_deleted"
        case transferred
    }

    /// The outcome of an event; stored and shown.
    package enum Outcome: String, Sendable, Hashable, CaseIterable {
        /// The reactions of the policy were carried out.
        case done
        /// All reactions except a deletion were carried out: the person can sign in without Apple.
        case otherSignIn = "other_sign_in"
        /// No reaction: none is set, or none is permitted.
        case noReaction = "no_reaction"
        /// It happened before the newest sign-in or before the credential was obtained.
        case stale
        /// The account's erasure can no longer be cancelled: the event echoes our own revocation, or comes too late to
        /// matter.
        case echo
        /// No account has this identity.
        case unknownAccount = "unknown_account"
        /// A type that Apple has not documented.
        case unknownType = "unknown_type"
        /// It concerns only the device.
        case deviceOnly = "device_only"
        /// Recorded; there is nothing to do.
        case noted
        /// Apple says that the grant is valid, whatever the device saw.
        case notConfirmed = "not_confirmed"
        /// Left to the daily check: Apple gave no answer for a day, or an inconclusive one, or had already been asked
        /// for a device's report within a day.
        case notConfirmable = "not_confirmable"
        /// There is no credential by which Apple could be asked.
        case nothingHeld = "nothing_held"
        /// Forwarding of a relay address was switched on or off.
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
            // Another Apple Account on the device, or a build with a wrong team: it says nothing about the account.
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

    /// Whether an event ends the forwarding of the account's relay address, because the Apple Account was deleted.
    ///
    /// That is no reaction of the policy.
    static func endsForwarding(_ event: CredentialEvent, _ facts: Facts) -> Bool {
        event.kind == .accountDeleted && obstacle(to: event, facts) == nil
    }

    /// Why a reported end has no effect now, or none at all; nil if it takes effect.
    private static func obstacle(to event: CredentialEvent, _ facts: Facts) -> Decision? {
        if facts.isBeingErased { return .nothing(.echo) }
        if isStale(event, facts) { return .nothing(.stale) }
        return facts.isLockedOut ? .wait : nil
    }

    /// Which of the policy's reactions are permitted, and the outcome to record.
    ///
    /// An account that unlinked Apple continues without it: only its invalid tokens are deleted. A deletion cannot be
    /// undone, and an account with another way to sign in continues without Apple too: it is marked instead.
    static func permitted(
        _ reactions: Set<CredentialReaction>,
        _ facts: Facts
    ) -> (reactions: Set<CredentialReaction>, outcome: Outcome) {
        let reactions = facts.hasIdentity ? reactions : reactions.intersection([.forgetCredential])
        if reactions.isEmpty { return ([], .noReaction) }
        guard reactions.contains(.requestDeletion), facts.hasOtherWayIn else { return (reactions, .done) }
        return (reactions.subtracting([.requestDeletion]).union([.markIdentity]), .otherSignIn)
    }

    /// The policy's reactions to Apple's refusal of a stored token, whatever the reason for asking.
    ///
    /// The token may have been revoked before the person came back with a new grant, for which we received no code, or
    /// be the former team's, which ends with the app's move to another team: then only the token is deleted.
    static func reactionsToGrantGone(_ facts: Facts, _ policy: CredentialPolicy) -> Set<CredentialReaction> {
        var isOutdated = facts.isOfFormerTeam
        if let signIn = facts.newestSignIn, let proof = facts.newestProofOfLife, signIn > proof { isOutdated = true }
        return isOutdated ? policy.grantGone.intersection([.forgetCredential]) : policy.grantGone
    }

    /// Whether the person came back after the event happened.
    ///
    /// Equal times count as stale: the daily check makes up for a missed sign-out, but nothing makes up for signing a
    /// person out because of an old event.
    private static func isStale(_ event: CredentialEvent, _ facts: Facts) -> Bool {
        [facts.newestSignIn, facts.newestCredential].contains { moment in
            moment.map { event.happenedAt <= $0 } ?? false
        }
    }
}
