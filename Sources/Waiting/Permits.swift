/// Bounds concurrent work: each caller holds one or more permits while it works.
///
/// First come, first served.
package final class Permits: Sendable {
    /// How many permits there are.
    package let total: Int
    /// Replies to a task with its number of permits, or nil when it is cancelled.
    private let room: WaitingRoom<PermitLine, Int?>

    /// How many tasks wait.
    package var waitingCount: Int { room.waitingCount }

    /// - Parameter total: How many permits there are, at least one.
    package init(total: Int) {
        self.total = max(1, total)
        room = WaitingRoom(PermitLine(total: self.total))
    }

    /// One permit fewer than there are of something, such as a pool's connections, but at least one.
    package convenience init(leavingOneOf total: Int) {
        self.init(total: total - 1)
    }

    /// Holds up to `wanted` permits while `body` runs, after waiting for at least one; `body` receives their number.
    ///
    /// - Throws: What `body` throws; `CancellationError` if the task is cancelled while it waits, without calling
    ///   `body`.
    package func with<Result>(upTo wanted: Int = 1, _ body: (Int) async throws -> Result) async throws -> Result {
        guard let count = try await take(upTo: wanted, until: nil) else { throw CancellationError() }
        defer { giveBack(count) }
        return try await body(count)
    }

    /// Holds a permit while `body` runs, after waiting for it until `deadline` at most.
    ///
    /// - Returns: What `body` returns; nil if the deadline passed without calling `body`.
    /// - Throws: `CancellationError` from `body`, or if the task is cancelled while it waits.
    package func with<Result>(
        until deadline: ContinuousClock.Instant,
        _ body: () async throws(CancellationError) -> Result
    ) async throws(CancellationError) -> Result? {
        guard let count = try await take(upTo: 1, until: deadline) else { return nil }
        defer { giveBack(count) }
        return try await body()
    }

    private func take(
        upTo wanted: Int,
        until deadline: ContinuousClock.Instant?
    ) async throws(CancellationError) -> Int? {
        if Task.isCancelled { throw CancellationError() }
        // No continuation for a caller that need not wait.
        let wanted = min(max(1, wanted), total)
        if let count = room.withState({ $0.takeNow(upTo: wanted) }) { return count }
        guard let deadline else { return try keep(await standInLine(upTo: wanted)) }
        let granted = await withTaskGroup(of: Int?.self) { group in
            group.addTask { await self.standInLine(upTo: wanted) }
            group.addTask {
                try? await Task.sleep(until: deadline, clock: .continuous)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            // Both may end at the same instant: a permit that was granted is never dropped.
            let second = await group.next() ?? nil
            return first ?? second
        }
        return try keep(granted)
    }

    /// Gives back permits granted to a task that was cancelled at the same moment.
    private func keep(_ granted: Int?) throws(CancellationError) -> Int? {
        guard Task.isCancelled else { return granted }
        if let granted { giveBack(granted) }
        throw CancellationError()
    }

    private func standInLine(upTo wanted: Int) async -> Int? {
        await room.wait { line, ticket in
            line.enter(ticket, upTo: wanted).map { [(ticket, $0)] } ?? []
        } leaving: { line, ticket in
            line.leave(ticket)
            return nil
        }
    }

    private func giveBack(_ count: Int) {
        room.answer { line in line.giveBack(count).map { ($0.ticket, $0.count) } }
    }
}
