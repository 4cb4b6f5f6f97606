#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Everything on which ``DeletionMachine`` decides, as of one moment by the database's clock.
package struct DeletionFacts: Sendable, Hashable {
    /// The state recorded last.
    package var state: DeletionState
    /// The time by the database's clock, the only clock that several workers share.
    var now: Date
    /// The end of the grace period.
    package var runAfter: Date
    /// When the account was locked out, if it was.
    package var lockedOutAt: Date?
    /// When no access token issued before the lock-out is valid any more, nor any upload URL signed for one.
    package var settleAfter: Date?
    /// Whether this request or every request is paused.
    package var isPaused: Bool
    /// Whether the account is on legal hold.
    package var isHeld: Bool
    /// Whether the account was created after the request, and so is not the one that was meant.
    package var isOtherAccount: Bool
    /// The finished steps, with the time at which each ended.
    package var finished: [DeletionStep: Date]
    /// How long the last preflight took.
    package var preflightTook: Duration

    package init(
        state: DeletionState,
        now: Date,
        runAfter: Date,
        lockedOutAt: Date? = nil,
        settleAfter: Date? = nil,
        isPaused: Bool = false,
        isHeld: Bool = false,
        isOtherAccount: Bool = false,
        finished: [DeletionStep: Date] = [:],
        preflightTook: Duration = .zero
    ) {
        self.state = state
        self.now = now
        self.runAfter = runAfter
        self.lockedOutAt = lockedOutAt
        self.settleAfter = settleAfter
        self.isPaused = isPaused
        self.isHeld = isHeld
        self.isOtherAccount = isOtherAccount
        self.finished = finished
        self.preflightTook = preflightTook
    }
}
