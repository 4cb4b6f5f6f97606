import AccountLifecycle
import ObjectStorage
import Postgres
import Terminal

/// Deletes the objects that a sweep found, a batch at a time.
struct AvatarSweepRun: Sendable {
    let sweep: AvatarSweep
    let storage: StorageGateway
    let actor: Operator
    let reason: String?
    let pool: Pool

    /// The progress of the run.
    struct Swept {
        /// Whether Storage has been asked to delete objects.
        var isBegun = false
        /// The number of objects whose outcome is known.
        var done = 0
        /// The number of these that are gone.
        var deleted = 0
        /// The number of these that Storage left in place.
        var stayed = 0
    }

    /// The maximum age of the list of avatars that profiles name, since it decides about other accounts' objects.
    private static let longestTrusted = Duration.seconds(600)

    /// Deletes until `most` objects are done, or none are left; `swept` is up to date even if this throws.
    func delete(_ most: Int, _ swept: inout Swept, _ progress: ProgressReporter) async throws {
        var last: String?
        // Read now, since the operator may have taken long to confirm; a large sweep takes long as well, so the list is
        // read again.
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

    /// The reason why no file may be deleted while deletions are paused; nil if they are not.
    static func pause(on connection: isolated Connection) throws -> String? {
        try StandingBrakes.read(on: connection).everything.map { "no file is deleted either: " + $0.words }
    }

    /// Refuses to delete while deletions are paused; checked for each batch, since a pause may begin during the run.
    private static func refuse(on connection: isolated Connection) throws {
        if let pause = try pause(on: connection) { throw CommandError(.blocked, pause) }
    }
}
