/// How many jobs of each queue a claim may take, by the pauses and rates of queues whose rows it has locked.
struct QueueTokens: Sendable {
    /// What is left of each queue that is paused or has a rate; 0 of a paused one.
    private var tokens: [String: Int] = [:]

    /// - Parameter queues: what is set for them; nil tokens without a rate.
    init(_ queues: [(queue: String, isPaused: Bool, tokens: Int32?)]) {
        for queue in queues { tokens[queue.queue] = queue.isPaused ? 0 : queue.tokens.map { max(0, Int($0)) } }
    }

    /// How many more may be taken of a queue, any number without a rate.
    func left(of queue: String) -> Int { tokens[queue] ?? .max }

    /// Counts jobs of a queue as taken; returns whether they count against a rate.
    mutating func took(_ count: Int, of queue: String) -> Bool {
        guard count > 0, let left = tokens[queue] else { return false }
        tokens[queue] = left - count
        return true
    }
}
