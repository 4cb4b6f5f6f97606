/// Bounds how much of something is under way: whoever wants to begin holds a permit for it, or several.
///
/// First come, first served.
package final class Permits: Sendable {
    /// How many there are.
    package let total: Int
    /// A task hears how many it has, nil when it is cancelled.
    private let room: WaitingRoom<PermitLine, Int?>

    /// How many tasks stand in line.
    package var waitingCount: Int { room.waitingCount }

    /// - Parameter total: How many there are, at least one.
    package init(total: Int) {
        self.total = max(1, total)
        room = WaitingRoom(PermitLine(total: self.total))
    }

    /// Holds up to `wanted` permits while `body` runs, which learns how many; waits for one as long as it takes.
    ///
    /// - Throws: What `body` throws; `CancellationError` when the task is cancelled while it waits, and `body` is not
    ///   called.
    package func with<Result>(upTo wanted: Int = 1, _ body: (Int) async throws -> Result) async throws -> Result {
        guard let count = try await take(upTo: wanted, until: nil) else { throw CancellationError() }
        defer { giveBack(count) }
        return try await body(count)
    }

    /// Holds a permit while `body` runs, after waiting for it until `deadline` at most.
    ///
    /// - Returns: What `body` returns, nil when the time was over and `body` was not called.
    /// - Throws: `CancellationError` from `body`, and when the task is cancelled while it waits.
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
        // No continuation for whoever need not wait.
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

    /// Gives back what was granted to a task that was cancelled at the same moment.
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
