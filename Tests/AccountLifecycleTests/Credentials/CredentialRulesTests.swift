import Foundation
import SignInWithApple
import Testing

@testable import AccountLifecycle

@Suite struct CredentialRulesTests {
    let moment = Date(timeIntervalSince1970: 1_750_000_000)
    let policy = CredentialPolicy()

    private func event(_ kind: CredentialEvent.Kind, user: UUID? = UUID()) -> CredentialEvent {
        CredentialEvent(
            id: 1,
            source: .apple,
            kind: kind,
            clientID: "com.example.app",
            user: user,
            happenedAt: moment
        )
    }

    private func decide(
        _ kind: CredentialEvent.Kind,
        signIn: Double? = -100,
        credential: Double? = -90,
        proof: Double? = nil,
        erased: Bool = false,
        lockedOut: Bool = false,
        otherWayIn: Bool = false
    ) -> CredentialRules.Decision {
        CredentialRules.decide(
            event(kind),
            CredentialRules.Facts(
                newestSignIn: signIn.map { moment + $0 },
                newestCredential: credential.map { moment + $0 },
                newestProofOfLife: (proof ?? credential).map { moment + $0 },
                isBeingErased: erased,
                isLockedOut: lockedOut,
                hasOtherWayIn: otherWayIn
            ),
            policy: policy
        )
    }

    @Test func thePolicyIsFollowed() {
        #expect(
            decide(.consentRevoked) == .react([.signOut, .forgetCredential, .markIdentity], mark: .consentRevoked)
        )
        #expect(
            decide(.accountDeleted)
                == .react([.signOut, .forgetCredential, .markIdentity, .requestDeletion], mark: .accountDeleted)
        )
        #expect(decide(.grantGone) == .react([.signOut, .forgetCredential, .markIdentity], mark: .consentRevoked))
    }

    /// An event about a locked-out account waits, since the deletion may still be cancelled.
    ///
    /// Only events that the erasure cannot have caused are decided before that.
    @Test func whatIsAboutALockedOutAccountWaits() {
        for kind: CredentialEvent.Kind in [.consentRevoked, .accountDeleted, .grantGone, .stateRevoked] {
            #expect(decide(kind, lockedOut: true) == .wait)
            #expect(decide(kind, signIn: 1, lockedOut: true) == .nothing(.stale))
            #expect(decide(kind, erased: true) == .nothing(.echo))
        }
        #expect(decide(.stateTransferred, lockedOut: true) == .noteTransfer)
    }

    /// The deletion of an Apple Account does not erase a person who can sign in by another method, such as Google.
    @Test func noDeletionOfAnAccountWithAnotherWayIn() {
        #expect(
            decide(.accountDeleted, otherWayIn: true)
                == .react([.signOut, .forgetCredential, .markIdentity], mark: .accountDeleted, outcome: .otherSignIn)
        )
        #expect(decide(.consentRevoked, otherWayIn: true) == decide(.consentRevoked))
        var policy = CredentialPolicy()
        policy.accountDeleted = [.requestDeletion]
        let facts = CredentialRules.Facts(hasOtherWayIn: true)
        #expect(
            CredentialRules.decide(event(.accountDeleted), facts, policy: policy)
                == .react([.markIdentity], mark: .accountDeleted, outcome: .otherSignIn)
        )
    }

    /// An event that is no newer than a person's last sign-in or credential has no effect.
    @Test(arguments: [CredentialEvent.Kind.consentRevoked, .accountDeleted, .grantGone, .stateRevoked])
    func anythingOlderThanTheReturnIsStale(kind: CredentialEvent.Kind) {
        #expect(decide(kind, signIn: 1) == .nothing(.stale))
        #expect(decide(kind, signIn: 0) == .nothing(.stale))
        #expect(decide(kind, signIn: nil, credential: 1) == .nothing(.stale))
    }

    @Test(arguments: [CredentialEvent.Kind.consentRevoked, .accountDeleted, .grantGone, .stateRevoked])
    func ourOwnRevocationComesBackAsAnEcho(kind: CredentialEvent.Kind) {
        #expect(decide(kind, erased: true) == .nothing(.echo))
    }

    /// A dead token that is older than the last sign-in is only forgotten, since a newer grant may exist without a
    /// code.
    @Test func aDeadTokenOfBeforeTheLastSignInIsOnlyForgotten() {
        #expect(decide(.grantGone, signIn: -10, credential: -90) == .react([.forgetCredential], mark: .consentRevoked))
        #expect(
            decide(.grantGone, signIn: -10, credential: -90, proof: -5)
                == .react([.signOut, .forgetCredential, .markIdentity], mark: .consentRevoked)
        )
    }

    @Test func devicesAreHeardButNotBelieved() {
        #expect(decide(.stateRevoked) == .confirm)
        #expect(decide(.stateNotFound) == .nothing(.deviceOnly))
        #expect(decide(.stateAuthorized) == .nothing(.noted))
        #expect(decide(.stateTransferred) == .noteTransfer)
    }

    @Test func nobodysEventsChangeNothing() {
        let decision = CredentialRules.decide(event(.accountDeleted, user: nil), .init(), policy: policy)
        #expect(decision == .nothing(.unknownAccount))
        #expect(decide(.other("other.new-thing")) == .nothing(.unknownType))
    }

    @Test func aPolicyMaySayNothing() {
        var policy = CredentialPolicy()
        policy.consentRevoked = []
        policy.accountDeleted = []
        #expect(CredentialRules.decide(event(.consentRevoked), .init(), policy: policy) == .nothing(.noReaction))
        #expect(CredentialRules.decide(event(.accountDeleted), .init(), policy: policy) == .nothing(.noReaction))
    }

    /// Only the deletion of the Apple Account ends forwarding, and not if it is stale, our own echo, or still
    /// undecided.
    @Test func forwardingEndsWithTheAppleAccount() {
        #expect(CredentialRules.endsForwarding(event(.accountDeleted), .init()))
        #expect(!CredentialRules.endsForwarding(event(.consentRevoked), .init()))
        let others = [
            CredentialRules.Facts(newestSignIn: moment), .init(isBeingErased: true), .init(isLockedOut: true),
        ]
        for facts in others {
            #expect(!CredentialRules.endsForwarding(event(.accountDeleted), facts))
        }
    }

    @Test func kindsFitTheTable() {
        for text in ["New Type!", "ümlaut", String(repeating: "x", count: 500), "", "a\u{0}b"] {
            let stored = CredentialEvent.Kind(AppleNotification.EventType(text)).text
            #expect(stored.wholeMatch(of: /[a-z][a-z0-9_.\-]{0,63}/) != nil)
        }
        for kind in [CredentialEvent.Kind.consentRevoked, .accountDeleted, .grantGone, .stateNotFound, .emailEnabled] {
            #expect(CredentialEvent.Kind(stored: kind.text) == kind)
        }
    }
}
