import SignInWithApple

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The course of a run, on either side of a transfer: what the answers so far mean for the next step, as a pure value.
///
/// Apple's documented answer for a user who cannot be moved (`invalid_request`, TN3159, TN3107) is also its answer to a
/// request that is wrong for everybody. Its answer to an expired migration token is undocumented: HTTP 401 and every
/// refusal may mean that. So a user refused after another was moved is asked about again with a new token. After many
/// consecutive refusals, and at the end of a run that moved nobody, a user whom Apple named before is asked about. If
/// Apple still names that user, the refusals are recorded (they may be users of another team's apps); otherwise nothing
/// is recorded and the run stops.
struct TransferCourse: Sendable {
    /// A user whom Apple refused, while the refusal is not yet believed.
    struct Doubt: Sendable {
        let user: UUID
        let subject: String
        let refusal: AppleRefusal
    }

    /// What becomes of the users in doubt.
    enum Step: Sendable, Hashable {
        /// They stay in doubt.
        case goOn
        /// Their refusals are recorded.
        case record
        /// A witness is asked about: the refusals are recorded if Apple names it, and end the run otherwise.
        case askWitness
    }

    /// Consecutive answers without a verdict after which a run ends, to be started again later.
    private static let patience = 5
    /// Consecutive refusals after which the request itself is checked.
    static let refusalsInARow = 20
    /// How many locked accounts in a row are passed; if there are more, something holds all of them locked.
    private static let lockedAtMost = 20

    /// Whether every refusal is recorded at once: the operator requests it, as Apple may name none of the remaining
    /// users; a recorded user can be asked about again.
    private let recordsAtOnce: Bool
    private var run = TeamTransfer.Run()
    private(set) var walk: TransferWalk
    private var doubts: [Doubt] = []
    /// Whether Apple has named a user, also one whose account is locked or gone by now.
    private var hasNamed = false
    /// Whether the previous user was refused with a token that was new then.
    private(set) var isAfterRefusal = false
    /// Consecutive answers without a verdict.
    private var silence = 0
    /// Accounts that another session holds locked, such as their deletion: they are left to another run.
    private var locked: Set<UUID> = []
    /// How many accounts in a row were locked when something was to be recorded of them.
    private var lockedInARow = 0
    /// Accounts that were gone when an answer was to be recorded: an identity may have outlived its account.
    private var gone: Set<UUID> = []

    /// Creates a run that begins after an account.
    init(after start: UUID, recordsAtOnce: Bool) {
        walk = TransferWalk(after: start)
        self.recordsAtOnce = recordsAtOnce
    }

    /// How many users have a result.
    var processed: Int { run.done + run.refused }

    /// Whether so many accounts in a row are locked that the run ends.
    var isHeldUp: Bool { lockedInARow > Self.lockedAtMost }

    /// The results so far.
    ///
    /// They tell of the accounts passed because they were locked, unless something else stopped the run.
    var result: TeamTransfer.Run {
        guard !locked.isEmpty, run.stoppedBy == nil else { return run }
        var run = run
        let accounts = locked.count == 1 ? "1 account is" : "\(locked.count) accounts are"
        run.stoppedBy = "\(accounts) held locked by another session, such as a deletion"
        return run
    }

    /// Continues after a page.
    ///
    /// - Returns: The users on it to ask about: not those in doubt, and not those whose accounts are locked or gone.
    mutating func pass(_ page: TransferPage) -> [(user: UUID, subject: String)] {
        let inDoubt = Set(doubts.map(\.subject))
        let due = page.due.filter {
            !inDoubt.contains($0.subject) && !locked.contains($0.user) && !gone.contains($0.user)
        }
        walk.pass(page.last, hasFound: !due.isEmpty)
        return due
    }

    /// Apple named a user, of whom so many accounts were recorded.
    ///
    /// That proves the token, the team and the window, so the users in doubt are refused for what they are.
    mutating func named(recorded: Int) {
        run.done += recorded
        hasNamed = true
        silence = 0
        isAfterRefusal = false
    }

    /// Apple refused a user.
    mutating func refused(_ doubt: Doubt) -> Step {
        doubts.append(doubt)
        silence = 0
        isAfterRefusal = true
        if recordsAtOnce { return .record }
        return doubts.count < Self.refusalsInARow ? .goOn : .askWitness
    }

    /// Apple gave no verdict on a user.
    ///
    /// - Returns: How long to wait; nil after too many such answers in a row.
    mutating func wait(_ delay: AppleDelay) -> Duration? {
        silence += 1
        return silence < Self.patience ? delay.retryAfter ?? .seconds(1) : nil
    }

    /// What becomes of the users in doubt when nobody is left to ask about.
    ///
    /// Even if they are few, as in a small app or on the last page, the team or the key may be wrong.
    var lastStep: Step {
        if doubts.isEmpty { .goOn } else if hasNamed { .record } else { .askWitness }
    }

    /// Apple named a witness, so the request is right.
    mutating func witnessNamed() {
        isAfterRefusal = false
    }

    /// Apple named no witness: nothing is recorded of the users in doubt, and the run ends.
    mutating func noWitnessNamed() {
        guard let last = doubts.last else { return }
        run.doubted = doubts.count
        stop(
            "Apple refused everybody it was asked about last: \(last.refusal); nothing was recorded about them, since the "
                + "request itself may be wrong"
        )
    }

    /// Takes the users in doubt, whose refusals are to be recorded now.
    mutating func takeDoubts() -> [Doubt] {
        defer { doubts = [] }
        return doubts
    }

    /// The refusal of a user was recorded, of so many accounts.
    mutating func refusalRecorded(_ accounts: Int) {
        run.refused += accounts
    }

    /// An account was found unlocked.
    mutating func reached() {
        lockedInARow = 0
    }

    /// An account is passed since another session holds it locked.
    mutating func passLocked(_ user: UUID) {
        locked.insert(user)
        lockedInARow += 1
    }

    /// An account is passed since it was erased after its page was read.
    mutating func passGone(_ user: UUID) {
        gone.insert(user)
    }

    /// Something stops the run.
    mutating func stop(_ reason: String) {
        run.stoppedBy = reason
    }
}
