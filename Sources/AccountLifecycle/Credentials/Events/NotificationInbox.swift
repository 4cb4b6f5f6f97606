import Logging
import Postgres
import SignInWithApple

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Reads `apple_inbox`: what was put there unverified is verified now, taken in or thrown away.
///
/// Judged by the moment it came: Apple's notifications end after a day, and are not sent again because no worker ran.
struct NotificationInbox: Sendable {
    /// How many looks one stays through that cannot be judged or stored: with one each minute, a day of them.
    ///
    /// Not its age, which says only how long nobody looked.
    static let patience = 1440

    /// What a look made of a row.
    private enum Look {
        case takenIn
        case notBelieved(TokenProblem)
        /// It may fare better another time.
        case failed(reason: String)

        /// Why a row is thrown away unread, in a word; nil for one that was taken in.
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
        /// Seconds.
        let age: Double
        /// How many looks have failed.
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
    /// - Returns: How many were read. One that cannot be judged now, since Apple's keys cannot be had or our clock is
    ///   slow, or that the database refuses to store, stays for ``patience`` looks and stands in nobody's way.
    func read() async throws -> Int {
        var count = 0
        var last: Int64 = 0
        while true {
            let waiting = try await waiting(after: last)
            var dropped: [String: Int] = [:]
            defer { tell(dropped) }
            // By our own clock, which also says when Apple's keys were fetched.
            let now = services.apple.moment
            for row in waiting {
                try Task.checkCancellation()
                last = row.id
                // Taken in first, removed after: what is read twice is known by its jti.
                let look = try await look(at: row, arrived: now - row.age)
                if case .failed = look, row.tries + 1 < Self.patience {
                    try await putBack(row)
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
                "a notification of the inbox could not be stored",
                metadata: ["row": "\(row.id)", "error": "\(error)"]
            )
            return .failed(reason: "not_stored")
        }
    }

    /// One line for many: whoever can reach the inbox can fill it with what is nobody's.
    private func tell(_ dropped: [String: Int]) {
        guard !dropped.isEmpty else { return }
        services.logger.warning(
            "notifications of the inbox were thrown away",
            metadata: dropped.mapValues { "\($0)" }
        )
    }

    private func putBack(_ row: Row) async throws {
        try await services.pool.withConnection { connection in
            _ = try connection.execute("update accountctl.apple_inbox set tries = tries + 1 where id = \(row.id)")
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
