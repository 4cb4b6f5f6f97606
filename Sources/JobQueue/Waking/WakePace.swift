/// When workers are told of new jobs: a value that decides.
///
/// The first of a burst at once, by whoever brings it; what follows together, when the interval is over.
struct WakePace: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// The time between two notifications while jobs come one by one.
    let interval: Duration
    /// How many such intervals become one while more than two jobs come in each: workers are awake then anyway.
    private static let most = 8
    /// Queues that nobody was told of yet.
    private(set) var pending: Set<String> = []
    /// Nothing is sent before.
    private var quietUntil: Instant?
    /// How many intervals are one now.
    private var stretch = 1
    /// Whether somebody is telling with a commit that is not through yet.
    private var isTurnTaken = false

    init(interval: Duration) {
        self.interval = interval
    }

    /// Jobs came: the queues to tell of now, by the caller.
    mutating func signal(_ queues: Set<String>, now: Instant) -> Set<String> {
        guard !isTurnTaken, isQuietOver(now: now) else {
            pending.formUnion(queues)
            return []
        }
        begin(now: now)
        return queues
    }

    /// Whether the caller is the one to tell, with a commit of its own, and until ``endTurn()``; nothing is kept for
    /// later otherwise.
    mutating func takeTurn(now: Instant) -> Bool {
        guard !isTurnTaken, isQuietOver(now: now) else { return false }
        begin(now: now)
        isTurnTaken = true
        return true
    }

    /// Whoever had the turn has told, or could not.
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

    /// What was to be sent at once is still to be sent.
    mutating func keep(_ queues: Set<String>) {
        pending.formUnion(queues)
    }

    /// How long what is pending has to wait yet.
    func wait(now: Instant) -> Duration {
        quietUntil.map { max(.zero, $0 - now) } ?? .zero
    }

    /// What is pending and is now sent, after so many signals that were kept for later.
    mutating func take(after signals: Int, now: Instant) -> Set<String> {
        stretch = signals > 2 * stretch ? min(stretch * 2, Self.most) : 1
        quietUntil = now.advanced(by: interval * stretch)
        defer { pending = [] }
        return pending
    }
}
