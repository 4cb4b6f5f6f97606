import Postgres

@testable import JobQueue

extension JobQueue {
    /// Registers a worker with its limits, as a starting worker does, for claims by hand.
    func addWorker(
        _ lanes: [Lane],
        version: String = "1",
        limits: [KindLimit] = [],
        lifetime: Duration = .seconds(600),
        on connection: isolated Connection
    ) throws -> Int64 {
        let worker = try register(
            .init(name: "t", version: version, slots: 9, lanes: lanes, lifetime: lifetime),
            on: connection
        ).id
        try syncLimits(limits, of: Set(lanes.map(\.kind)), by: worker, patience: .seconds(60), on: connection)
        return worker
    }
}
