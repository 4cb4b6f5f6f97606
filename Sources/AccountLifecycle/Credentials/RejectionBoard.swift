package import Logging
package import Postgres
package import SignInWithApple
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Shares between the workers of an installation which client ids Apple rejects.
///
/// When one worker is rejected, all others with the same key stop calling for that client id. Each tests it again by
/// itself when the pause is over, and the first success ends the pause for all. A worker with another key, as during a
/// key change, is not affected.
package final class RejectionBoard: Sendable {
    private let pool: Pool
    private let apple: AppleClients
    private let logger: Logger
    /// The client ids that were paused here at the last exchange.
    private let paused = Mutex<Set<String>>([])

    /// Makes a board.
    package init(pool: Pool, apple: AppleClients, logger: Logger) {
        self.pool = pool
        self.apple = apple
        self.logger = logger
    }

    /// Publishes this worker's rejections, and adopts those of others.
    ///
    /// - Throws: ``PostgresError``; the rejections are then published by the next call.
    package func exchange() async throws {
        let rejections = apple.rejections()
        let before = paused.withLock { $0 }
        let (apple, ids) = (apple, apple.clientIDs)
        let rows = try await pool.withTransaction { connection in
            for id in ids where before.contains(id) && rejections[id] == nil {
                try connection.execute(
                    """
                    delete from accountctl.apple_rejections
                    where client_id = \(id)
                      and team_id = \(apple[id]?.identity.teamID)
                      and key_id = \(apple[id]?.identity.keyID)
                    """
                )
            }
            for (id, rejection) in rejections.sorted(by: { $0.key < $1.key }) {
                try Self.tell(rejection, of: id, isNew: !before.contains(id), on: connection)
            }
            // A rejection that nobody renews is of a key no longer in use, or of a worker that is gone.
            try connection.execute(
                "delete from accountctl.apple_rejections where retry_after < now() - interval '1 day'"
            )
            return try connection.query(
                "select client_id, team_id, key_id, refusal, retry_after from accountctl.apple_rejections",
                into: Row.init
            )
        }
        var pausedNow: Set<String> = []
        for id in ids {
            let identity = apple[id]?.identity
            let ours = rows.first {
                $0.clientID == id && $0.teamID == identity?.teamID && $0.keyID == identity?.keyID
            }
            if let ours {
                pausedNow.insert(id)
                guard rejections[id] == nil, !before.contains(id) else { continue }
                apple.pause(id, until: ours.until, refusal: ours.refusal)
                logger.warning("another worker was rejected by Apple", metadata: ["client_id": "\(id)"])
            } else if rejections[id] != nil {
                apple.resume(id)
                logger.notice("another worker is accepted by Apple again", metadata: ["client_id": "\(id)"])
            }
        }
        paused.withLock { [pausedNow] in $0 = pausedNow }
    }

    /// A published rejection.
    private struct Row {
        let clientID: String
        let teamID: String
        let keyID: String
        let refusal: String
        let until: Date
    }

    /// Publishes a rejection; only a new one inserts a row, since a missing row was deleted by a worker that succeeded.
    ///
    /// A rejection whose pause is over is renewed until somebody tests the client id: a day without calls does not show
    /// that it works.
    private static func tell(
        _ rejection: AppleClients.Rejection,
        of id: String,
        isNew: Bool,
        on connection: isolated Connection
    ) throws {
        let due: Statement = "greatest(\(rejection.until), now())"
        if isNew {
            try connection.execute(
                """
                insert into accountctl.apple_rejections as r (client_id, team_id, key_id, refusal, retry_after)
                values (\(id), \(rejection.teamID), \(rejection.keyID), \(rejection.refusal), \(due))
                on conflict (client_id, team_id, key_id) do update
                set refusal = excluded.refusal, retry_after = greatest(r.retry_after, excluded.retry_after)
                """
            )
        } else {
            try connection.execute(
                """
                update accountctl.apple_rejections
                set retry_after = \(due)
                where client_id = \(id)
                  and team_id = \(rejection.teamID)
                  and key_id = \(rejection.keyID)
                  and (retry_after < \(rejection.until) or retry_after < now() - interval '12 hours')
                """
            )
        }
    }
}
