import DequeModule

/// Permits that are given out first come, first served; a value that decides and does not wait.
struct PermitLine: Sendable {
    /// The tickets that wait, with how many permits each wants; none waits while a permit is free.
    private var waiting: Deque<(ticket: Int, wanted: Int)> = []
    private var free: Int

    init(total: Int) {
        free = total
    }

    /// Takes up to `wanted` permits if one is free.
    ///
    /// Takes fewer than wanted rather than wait for all of them: a request that insisted on two would hold up everybody
    /// behind it until both are free.
    mutating func takeNow(upTo wanted: Int) -> Int? {
        guard free > 0 else { return nil }
        let count = min(wanted, free)
        free -= count
        return count
    }

    /// Takes up to `wanted` permits, or stands in line for them.
    mutating func enter(_ ticket: Int, upTo wanted: Int) -> Int? {
        let count = takeNow(upTo: wanted)
        if count == nil { waiting.append((ticket, wanted)) }
        return count
    }

    /// Gives permits back; the tickets that have them now, and how many each.
    mutating func giveBack(_ count: Int) -> [(ticket: Int, count: Int)] {
        free += count
        var served: [(ticket: Int, count: Int)] = []
        while let first = waiting.first, let count = takeNow(upTo: first.wanted) {
            waiting.removeFirst()
            served.append((first.ticket, count))
        }
        return served
    }

    /// Leaves the line, if the ticket stands in it.
    mutating func leave(_ ticket: Int) {
        if let index = waiting.firstIndex(where: { $0.ticket == ticket }) { waiting.remove(at: index) }
    }
}
