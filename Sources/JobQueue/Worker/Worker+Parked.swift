import Postgres
import Synchronization

extension Worker {
    /// The due rounds that make parked jobs available again.
    func parkedRounds() -> [ParkedRounds.Round] {
        core.withLock { core in
            let now = ContinuousClock.now
            guard let time = core.server.time(now: now) else { return [] }
            return core.parked.begin(now: now, serverTime: time)
        }
    }

    /// Makes parked jobs available again, at most as many as one statement may.
    func bringBack(_ round: ParkedRounds.Round) async throws {
        let queue = self.queue
        let all = lanes
        let count = try await control.withConnection { connection in
            switch round.reason {
            case .limits: try queue.unparkUnlimited(all, on: connection)
            case .newer: try queue.retryNewer(all, since: round.since, on: connection)
            case .undecodable: try queue.retryUndecodable(all, since: round.since, on: connection)
            }
        }
        core.withLock { $0.parked.brought(count, in: round, now: .now) }
        if count > 0 { wake() }
    }
}
