import AccountLifecycle
import ObjectStorage
import Postgres
import Terminal

/// Deletes what a sweep found, a part at a time.
struct AvatarSweepRun: Sendable {
    let sweep: AvatarSweep
    let storage: StorageGateway
    let actor: Operator
    let reason: String?
    let pool: Pool

    /// How far it has come.
    struct Swept {
        /// Whether Storage was asked to delete some.
        var isBegun = false
        /// Of how many objects it is known what became of them.
        var done = 0
        /// How many of them are gone.
        var deleted = 0
        /// How many of them Storage left in place.
        var stayed = 0
    }

    /// How old what profiles name may be when it decides about an object of somebody else.
    private static let longestTrusted = Duration.seconds(600)

    /// Deletes until so many objects are done with, or no more are left; `swept` tells also where it throws.
    func delete(_ most: Int, _ swept: inout Swept, _ progress: ProgressReporter) async throws {
        var last: String?
        // Somebody may have thought about the question for long, and a large sweep takes its time.
        var (names, readAt) = (try await pool.withConnection { try sweep.names(on: $0) }, ContinuousClock.now)
        while swept.done < most {
            if .now - readAt > Self.longestTrusted {
                (names, readAt) = (try await pool.withConnection { try sweep.names(on: $0) }, .now)
            }
            let limit = min(StorageClient.largestBatch, most - swept.done)
            let batch = try await pool.withConnection { [last, names] connection in
                try Self.refuse(on: connection)
                return try sweep.next(after: last, limit: limit, except: names, on: connection)
            }
            if batch.leftovers.isEmpty { return }
            swept.isBegun = true
            let record = { @Sendable (files: [AvatarSweep.Leftover], connection: isolated Connection) in
                let facts = ["objects": Int64(files.count), "bytes": files.reduce(0) { $0 + $1.bytes }]
                try actor.log("avatars.sweep", on: nil, reason: reason, facts: facts, connection)
            }
            let (asked, stayed) = try await sweep.delete(
                batch.leftovers,
                by: storage,
                pool: pool,
                check: { try Self.refuse(on: $0) },
                record: record
            )
            swept.deleted += asked - stayed
            swept.stayed += stayed
            swept.done += batch.leftovers.count
            last = batch.cursor
            progress.update(swept.done)
        }
    }

    /// What forbids to delete a file while deletions are paused; nil while they are not.
    static func pause(on connection: isolated Connection) throws -> String? {
        try StandingBrakes.read(on: connection).everything.map { "no file is deleted either: " + $0.words }
    }

    /// Refuses to delete while deletions are paused, by whoever begins that meanwhile.
    private static func refuse(on connection: isolated Connection) throws {
        if let pause = try pause(on: connection) { throw CommandError(.blocked, pause) }
    }
}
