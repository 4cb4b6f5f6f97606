import Logging
import Postgres
import SignInWithApple

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Reads `apple_inbox`: verifies what was stored there unverified, then stores it as events or drops it.
///
/// A notification is judged by the time of its arrival: Apple's notifications expire after a day, and Apple does not
/// send them again if no worker ran.
struct NotificationInbox: Sendable {
    /// How many attempts a notification gets that cannot be judged or stored: a day's worth, with one each minute.
    ///
    /// Its age does not count, since that only shows how long no worker looked.
    static let patience = 1440

    /// The result of an attempt.
    private enum Look {
        case takenIn
        case notBelieved(TokenProblem)
        /// A later attempt may succeed.
        case failed(reason: String)

        /// Why a row is dropped, as one word; nil if it was taken in.
        var reasonToDrop: String? {
            switch self {
            case .takenIn: nil
            case .notBelieved(let problem): problem.rawValue
            case .failed(let reason): reason
            }
        }
    }

    private struct Row {
        let id: Int64
        let body: String
        /// The age in seconds.
        let age: Double
        /// How many attempts have failed.
        let tries: Int32
    }

    private let services: CredentialServices
    private let intake: NotificationIntake

    init(_ services: CredentialServices) {
        self.services = services
        intake = NotificationIntake(pool: services.pool, apple: services.apple, logger: services.logger)
    }

    /// Reads everything that waits.
    ///
    /// A notification stays for ``patience`` attempts, without delaying others, if it cannot be judged now (Apple's
    /// keys are unavailable or our clock is slow) or the database refuses to store it.
    ///
    /// - Returns: How many notifications were taken in or dropped.
    func read() async throws -> Int {
        var count = 0
        var last: Int64 = 0
        while true {
            let waiting = try await waiting(after: last)
            var dropped: [String: Int] = [:]
            defer { tell(dropped) }
            // By our own clock, which also stamps the time at which Apple's keys were fetched.
            let now = services.apple.moment
            for row in waiting {
                try Task.checkCancellation()
                last = row.id
                // Taken in first and removed afterwards: a notification read twice is recognized by its jti.
                let look = try await look(at: row, arrived: now - row.age)
                if case .failed(let reason) = look, row.tries + 1 < Self.patience {
                    try await putBack(row, because: reason)
                    continue
                }
                try await remove(row)
                if let reason = look.reasonToDrop { dropped[reason, default: 0] += 1 }
                count += 1
            }
            if waiting.isEmpty { return count }
        }
    }

    private func look(at row: Row, arrived: Date) async throws -> Look {
        do {
            switch try await intake.take(Array(row.body.utf8), arrived: arrived) {
            case .stored, .duplicate: return .takenIn
            case .refused(let problem): return .notBelieved(problem)
            case .notNow(let problem): return .failed(reason: problem.rawValue)
            }
        } catch let error as PostgresError where error.isRefusal {
            services.logger.error(
                "a notification in the inbox could not be stored",
                metadata: ["row": "\(row.id)", "error": "\(error)"]
            )
            return .failed(reason: "not_stored")
        }
    }

    /// Logs one line for many, since anyone who can reach the inbox can fill it with notifications that concern nobody.
    private func tell(_ dropped: [String: Int]) {
        guard !dropped.isEmpty else { return }
        services.logger.warning(
            "notifications in the inbox were discarded",
            metadata: dropped.mapValues { "\($0)" }
        )
    }

    /// Counts the attempt, and whether the row names a key that is not among Apple's: such a row makes room in a full
    /// inbox, and one that waits for the keys, our clock or the database does not.
    private func putBack(_ row: Row, because reason: String) async throws {
        var mayYield = false
        if reason == TokenProblem.keysUnavailable.rawValue { mayYield = try await services.apple.hasKeys() }
        try await services.pool.withConnection { [mayYield] connection in
            _ = try connection.execute(
                "update accountctl.apple_inbox set tries = tries + 1, may_yield = \(mayYield) where id = \(row.id)"
            )
        }
    }

    private func remove(_ row: Row) async throws {
        try await services.pool.withConnection { connection in
            _ = try connection.execute("delete from accountctl.apple_inbox where id = \(row.id)")
        }
    }

    private func waiting(after last: Int64) async throws -> [Row] {
        try await services.pool.withConnection { connection in
            try connection.query(
                """
                select id, body, extract(epoch from clock_timestamp() - received_at)::float8, tries
                from accountctl.apple_inbox
                where id > \(last)
                order by id
                limit 500
                """,
                as: (Int64, String, Double, Int32).self
            ).map(Row.init)
        }
    }
}
