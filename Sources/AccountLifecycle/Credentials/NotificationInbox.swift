import Logging
import Postgres
import SignInWithApple

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Reads `apple_inbox`: what was put there unverified is verified now, taken in or thrown away.
struct NotificationInbox: Sendable {
    /// How long one stays that cannot be judged or stored, in seconds.
    private static let patience = 86_400.0

    private let services: CredentialServices

    init(_ services: CredentialServices) {
        self.services = services
    }

    /// Reads everything that waits.
    ///
    /// - Returns: How many were read. One that cannot be judged now, since Apple's keys cannot be had, or that the database
    ///   refuses to store, stays for a day and stands in nobody's way.
    func read() async throws -> Int {
        var count = 0
        var last: Int64 = 0
        while true {
            let waiting = try await waiting(after: last)
            // By our own clock, which also says when Apple's keys were fetched.
            let now = services.apple.moment
            for (id, body, age) in waiting {
                try Task.checkCancellation()
                last = id
                // Taken in first, removed after: what is read twice is known by its jti.
                guard try await take(body, id: id, arrived: now - age) || age >= Self.patience else { continue }
                _ = try await services.pool.withConnection { connection in
                    try connection.execute("delete from accountctl.apple_inbox where id = \(id)")
                }
                count += 1
            }
            if waiting.isEmpty { return count }
        }
    }

    /// - Returns: Whether it has been dealt with.
    private func take(_ body: String, id: Int64, arrived: Date) async throws -> Bool {
        do {
            return try await NotificationIntake(services).take(Array(body.utf8), arrived: arrived) != .notNow
        } catch let error as PostgresError where error.isRefusal {
            services.logger.error(
                "a notification of the inbox could not be stored",
                metadata: ["row": "\(id)", "error": "\(error)"]
            )
            return false
        }
    }

    private func waiting(after last: Int64) async throws -> [(Int64, String, Double)] {
        try await services.pool.withConnection { connection in
            try connection.query(
                """
                select id, body, extract(epoch from clock_timestamp() - received_at)::float8
                from accountctl.apple_inbox
                where id > \(last)
                order by id
                limit 500
                """,
                as: (Int64, String, Double).self
            )
        }
    }
}
