/// A FIFO queue of queries that wait for a free slot; confined to the exchange.
///
/// Thousands may wait, so only the rare expiry walks over all of them.
struct CaresQueue {
    private var queries: [CaresQuery] = []
    /// The index of the first query not yet taken; the entries before it are removed from time to time.
    private var head = 0
    /// A lower bound on the deadlines of all waiting queries.
    private(set) var earliestDeadline: ContinuousClock.Instant?

    mutating func append(_ query: CaresQuery) {
        queries.append(query)
        earliestDeadline = min(earliestDeadline ?? query.deadline, query.deadline)
    }

    /// Removes and returns the first query that still waits.
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

    /// Finishes queries that have waited past their deadline.
    mutating func finishExpired(at now: ContinuousClock.Instant) {
        guard let earliest = earliestDeadline, earliest <= now else { return }
        for query in queries[head...] where query.deadline <= now { query.finish(.noReply) }
        queries = queries[head...].filter { !$0.isFinished }
        head = 0
        earliestDeadline = queries.lazy.map(\.deadline).min()
    }

    /// Finishes all queries as unanswered.
    mutating func finishAll() {
        for query in queries[head...] { query.finish(.noReply) }
        self = CaresQueue()
    }
}
