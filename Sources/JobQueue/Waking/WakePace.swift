/// Decides when workers are notified of new jobs: a pure value.
///
/// The first job of a burst is notified of at once, by the caller that adds it; the following jobs together, when the
/// interval is over.
struct WakePace: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// The time between two notifications while jobs come one by one.
    let interval: Duration
    /// The most intervals that are joined into one while more than two jobs come in each: workers are awake then
    /// anyway.
    private static let most = 8
    /// Queues not yet notified of.
    private(set) var pending: Set<String> = []
    /// Nothing is sent before this.
    private var quietUntil: Instant?
    /// How many intervals are joined now.
    private var stretch = 1
    /// Whether a caller is notifying with a commit that has not completed yet.
    private var isTurnTaken = false

    init(interval: Duration) {
        self.interval = interval
    }

    /// Records that jobs came, and returns the queues that the caller has to notify of now.
    mutating func signal(_ queues: Set<String>, now: Instant) -> Set<String> {
        guard !isTurnTaken, isQuietOver(now: now) else {
            pending.formUnion(queues)
            return []
        }
        begin(now: now)
        return queues
    }

    /// Whether the caller notifies with its own commit, keeping the turn until ``endTurn()``; if not, nothing is kept
    /// for later.
    mutating func takeTurn(now: Instant) -> Bool {
        guard !isTurnTaken, isQuietOver(now: now) else { return false }
        begin(now: now)
        isTurnTaken = true
        return true
    }

    /// Ends the turn, whether or not its caller could notify.
    mutating func endTurn() {
        isTurnTaken = false
    }

    private func isQuietOver(now: Instant) -> Bool {
        pending.isEmpty && quietUntil.map { $0 <= now } ?? true
    }

    private mutating func begin(now: Instant) {
        stretch = 1
        quietUntil = now.advanced(by: interval)
    }

    /// Keeps queues for later that were to be sent at once.
    mutating func keep(_ queues: Set<String>) {
        pending.formUnion(queues)
    }

    /// How long the pending queues still have to wait.
    func wait(now: Instant) -> Duration {
        quietUntil.map { max(.zero, $0 - now) } ?? .zero
    }

    /// Takes the pending queues to send now, after so many signals kept for later.
    mutating func take(after signals: Int, now: Instant) -> Set<String> {
        stretch = signals > 2 * stretch ? min(stretch * 2, Self.most) : 1
        quietUntil = now.advanced(by: interval * stretch)
        defer { pending = [] }
        return pending
    }
}
