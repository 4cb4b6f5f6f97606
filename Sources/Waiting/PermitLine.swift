import DequeModule

/// Decides which waiting ticket gets permits, first come, first served: a pure value that never waits itself.
struct PermitLine: Sendable {
    /// The waiting tickets, with the number of permits each wants; none waits while a permit is free.
    private var waiting: Deque<(ticket: Int, wanted: Int)> = []
    private var free: Int

    init(total: Int) {
        free = total
    }

    /// Takes up to `wanted` permits if one is free.
    ///
    /// Takes fewer permits than wanted rather than waiting for all of them: a request that insisted on two would block
    /// everybody behind it until both are free.
    mutating func takeNow(upTo wanted: Int) -> Int? {
        guard free > 0 else { return nil }
        let count = min(wanted, free)
        free -= count
        return count
    }

    /// Takes up to `wanted` permits, or joins the line.
    mutating func enter(_ ticket: Int, upTo wanted: Int) -> Int? {
        let count = takeNow(upTo: wanted)
        if count == nil { waiting.append((ticket, wanted)) }
        return count
    }

    /// Gives permits back, and returns the tickets that get them, with the number for each.
    mutating func giveBack(_ count: Int) -> [(ticket: Int, count: Int)] {
        free += count
        var served: [(ticket: Int, count: Int)] = []
        while let first = waiting.first, let count = takeNow(upTo: first.wanted) {
            waiting.removeFirst()
            served.append((first.ticket, count))
        }
        return served
    }

    /// Removes the ticket from the line, if it waits.
    mutating func leave(_ ticket: Int) {
        if let index = waiting.firstIndex(where: { $0.ticket == ticket }) { waiting.remove(at: index) }
    }
}
