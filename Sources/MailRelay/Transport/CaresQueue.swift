/// Queries that wait for a place, first come, first served; belongs to the exchange.
///
/// Thousands may wait, so nothing here walks over all of them but the rare expiry.
struct CaresQueue {
    private var queries: [CaresQuery] = []
    /// The first that has not been taken; what lies before it is cut off now and then.
    private var head = 0
    /// No waiting query expires before this; may be too early, never too late.
    private(set) var earliestDeadline: ContinuousClock.Instant?

    mutating func append(_ query: CaresQuery) {
        queries.append(query)
        earliestDeadline = min(earliestDeadline ?? query.deadline, query.deadline)
    }

    /// Takes the first that still waits.
    mutating func popFirst() -> CaresQuery? {
        while head < queries.count {
            let query = queries[head]
            head += 1
            if head == queries.count || head >= 1024 {
                queries.removeFirst(head)
                head = 0
            }
            if queries.isEmpty { earliestDeadline = nil }
            if !query.isFinished { return query }
        }
        return nil
    }

    /// Ends what has waited past its deadline.
    mutating func finishExpired(at now: ContinuousClock.Instant) {
        guard let earliest = earliestDeadline, earliest <= now else { return }
        for query in queries[head...] where query.deadline <= now { query.finish(.noReply) }
        queries = queries[head...].filter { !$0.isFinished }
        head = 0
        earliestDeadline = queries.lazy.map(\.deadline).min()
    }

    /// Ends all without a reply.
    mutating func finishAll() {
        for query in queries[head...] { query.finish(.noReply) }
        self = CaresQueue()
    }
}
