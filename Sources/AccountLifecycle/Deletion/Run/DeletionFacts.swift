#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// All that ``DeletionMachine`` decides from, as of one moment by the database's clock.
package struct DeletionFacts: Sendable, Hashable {
    /// The state recorded last.
    package var state: DeletionState
    /// The database's clock: the only one that several workers share.
    var now: Date
    /// The end of grace.
    package var runAfter: Date
    /// When the account was locked out, if it was.
    package var lockedOutAt: Date?
    /// When no access token issued before the lock-out is valid any more, nor an upload that was signed for one.
    package var settleAfter: Date?
    /// Whether this request or everything is paused.
    package var isPaused: Bool
    /// Whether a legal hold lies on the account.
    package var isHeld: Bool
    /// Whether the account was created after the request: not the one that was meant.
    package var isOtherAccount: Bool
    /// The steps that are done, and when.
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
