/// How many jobs of each queue a claim may take, given the pauses and rates of the queues whose rows it has locked.
struct QueueTokens: Sendable {
    /// The tokens left of each queue that is paused or has a rate; 0 for a paused one.
    private var tokens: [String: Int] = [:]

    /// - Parameter queues: the settings of the queues; `tokens` is nil without a rate.
    init(_ queues: [(queue: String, isPaused: Bool, tokens: Int32?)]) {
        for queue in queues { tokens[queue.queue] = queue.isPaused ? 0 : queue.tokens.map { max(0, Int($0)) } }
    }

    /// How many more jobs of a queue may be taken; any number without a rate.
    func left(of queue: String) -> Int { tokens[queue] ?? .max }

    /// Counts jobs of a queue as taken; returns whether they count against a rate.
    mutating func took(_ count: Int, of queue: String) -> Bool {
        guard count > 0, let left = tokens[queue] else { return false }
        tokens[queue] = left - count
        return true
    }
}
