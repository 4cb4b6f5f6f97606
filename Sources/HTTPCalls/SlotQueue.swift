import DequeModule

/// Slots that are given out first come, first served; a value that decides and does not wait.
struct SlotQueue: Sendable {
    private let capacity: Int
    private var taken = 0
    private var waiting: Deque<Int> = []
    private var nextTicket = 0

    init(capacity: Int) {
        self.capacity = max(1, capacity)
    }

    /// Takes a slot if one is free and nobody waits.
    mutating func takeNow() -> Bool {
        guard taken < capacity else { return false }
        taken += 1
        return true
    }

    /// Reserves a ticket for ``enqueue(_:)``.
    mutating func makeTicket() -> Int {
        nextTicket += 1
        return nextTicket
    }

    /// Takes a slot, or stands in line.
    mutating func enqueue(_ ticket: Int) -> Bool {
        if takeNow() { return true }
        waiting.append(ticket)
        return false
    }

    /// Gives a slot back; the ticket that now owns it, if somebody waited.
    mutating func release() -> Int? {
        if let next = waiting.popFirst() { return next }
        taken -= 1
        return nil
    }

    /// Leaves the line; false when the ticket does not stand in it.
    mutating func leave(_ ticket: Int) -> Bool {
        guard let index = waiting.firstIndex(of: ticket) else { return false }
        waiting.remove(at: index)
        return true
    }
}
