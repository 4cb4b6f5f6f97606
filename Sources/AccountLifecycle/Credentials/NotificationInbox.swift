import Postgres
import SignInWithApple

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Reads `apple_inbox`: what was put there unverified is verified now, taken in or thrown away.
struct NotificationInbox: Sendable {
    private let services: CredentialServices

    init(_ services: CredentialServices) {
        self.services = services
    }

    /// Reads everything that waits.
    ///
    /// - Returns: How many were read. One that cannot be judged now, since Apple's keys cannot be had, stays for a day.
    func read() async throws -> Int {
        let intake = NotificationIntake(services)
        let waiting = try await services.pool.withConnection { connection in
            try connection.query(
                """
                select id, body, extract(epoch from clock_timestamp() - received_at)::float8
                from accountctl.apple_inbox
                order by id
                limit 500
                """,
                as: (Int64, String, Double).self
            )
        }
        // By our own clock, which also says when Apple's keys were fetched.
        let now = services.apple.moment
        var count = 0
        for (id, body, age) in waiting {
            try Task.checkCancellation()
            // Taken in first, removed after: what is read twice is known by its jti.
            let receipt = try await intake.take(Array(body.utf8), arrived: now - age)
            if receipt == .notNow, age < 86_400 { continue }
            _ = try await services.pool.withConnection { connection in
                try connection.execute("delete from accountctl.apple_inbox where id = \(id)")
            }
            count += 1
        }
        return count
    }
}
