import AccountLifecycle
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Requests the deletion of many accounts: surveys the list, asks for confirmation once, works in batches, and records
/// every outcome.
///
/// Requesting a deletion again finds the open request, so a run may end at any point without losing or repeating work.
/// The next run finds requests that were opened but not recorded, and skips a recorded request only if the database
/// still has it.
struct BulkRequest {
    let context: CommandContext
    let pool: Pool
    let list: IDList
    let resultPath: String
    let desk: DeletionDesk
    let reason: String?
    let grace: Duration?
    let confirmation: ConfirmOptions

    func run(_ pace: BulkPace) async throws -> ExitStatus {
        let database = try await pool.withConnection { try DatabaseIdentity.read(on: $0) }
        if confirmation.dryRun {
            let rest = try await rest(by: BulkResults.requests(in: resultPath, of: database))
            let survey = try await survey(rest.left)
            try context.output.show(plan(rest, survey))
            return Self.unknown(rest, survey) > 0 ? .notFound : .ok
        }
        return try await BulkResults.with(resultPath, of: database) { results in
            let rest = try await rest(by: results.requests)
            let left = rest.left
            let survey = try await survey(left)
            // Confirms the count of the whole list, not of the rest, so that the same command line continues an
            // unfinished run.
            try context.confirmIrreversible(question(rest, survey), id: "\(list.ids.count)", confirmation)
            var pace = pace
            var obstacle: (any Error)?
            do { try await work(left, results, &pace) } catch { obstacle = error }
            try context.output.show(outcome(rest, pace))
            if let obstacle {
                throw CommandError.stopped(
                    by: obstacle,
                    left: left.count - pace.done,
                    of: left.count,
                    then: Self.goesOn
                )
            }
            return try end(pace, left.count)
        }
    }

    /// Determines which accounts of the list are left, and warns of requests that were cancelled or that this database
    /// lacks.
    ///
    /// A copied database, or one restored to a point before the result file was written, may lack some or all of the
    /// recorded requests.
    ///
    /// - Parameter requests: the request of each account, as recorded in the result file.
    /// - Returns: The accounts that are left, and counts of the others.
    /// - Throws: `PostgresError`.
    private func rest(by requests: [UUID: UUID]) async throws -> BulkRest {
        let recorded = list.ids.compactMap { requests[$0] }
        let known = recorded.isEmpty ? [:] : try await known(recorded)
        let rest = BulkRest(of: list.ids, requests: requests, known: known)
        for warning in rest.warnings { context.messages.warning(warning) }
        return rest
    }

    private func known(_ requests: [UUID]) async throws -> [UUID: DeletionState] {
        try await pool.withConnection { connection in
            var known: [UUID: DeletionState] = [:]
            for page in requests.pages {
                known.merge(try DeletionDesk.known(page, on: connection)) { first, _ in first }
            }
            return known
        }
    }

    /// Surveys all accounts, and refuses a reason that names one of them before any question.
    private func survey(_ users: [UUID]) async throws -> DeletionDesk.Survey {
        let (desk, reason) = (desk, reason)
        return try await pool.withConnection { connection in
            var sum = DeletionDesk.Survey()
            for page in users.pages {
                try desk.refuseWords(reason, naming: page, on: connection)
                sum = sum + (try desk.survey(page, on: connection))
            }
            return sum
        }
    }

    private func work(_ users: [UUID], _ results: BulkResults, _ pace: inout BulkPace) async throws {
        let progress = context.progress("Requesting", total: users.count)
        // However the loop ends, the next output starts on a new line.
        defer { progress.finish(pace.done) }
        let start = ContinuousClock.now
        var rest = users[...]
        while !rest.isEmpty, !pace.isStopped {
            let batch = Array(rest.prefix(pace.batch))
            rest = rest.dropFirst(batch.count)
            do {
                try note(try await request(batch), results, &pace)
            } catch let error as PostgresError where Self.isOfOneRow(error) {
                try await oneByOne(batch, results, &pace)
            }
            progress.update(pace.done)
            let wait = pace.wait(elapsed: ContinuousClock.now - start)
            if !rest.isEmpty, wait > .zero { try await Task.sleep(for: wait) }
        }
    }

    /// Requests the accounts of a failed batch one by one, so that only those at fault are recorded as failed.
    private func oneByOne(_ users: [UUID], _ results: BulkResults, _ pace: inout BulkPace) async throws {
        for user in users where !pace.isStopped {
            do {
                try note(try await request([user]), results, &pace)
            } catch let error as PostgresError where Self.isOfOneRow(error) {
                try note([BulkResult(userID: user, outcome: .failed, error: error.description)], results, &pace)
            }
        }
    }

    private func note(_ done: [BulkResult], _ results: BulkResults, _ pace: inout BulkPace) throws {
        try results.append(done, at: context.now())
        pace.add(done)
    }

    /// Requests the deletion of some accounts, and retries for a while if the database is unreachable.
    private func request(_ users: [UUID]) async throws -> [BulkResult] {
        var retries = BulkRetries(each: pool.configuration.acquireDeadline)
        while true {
            do {
                return try await requestOnce(users)
            } catch let error as PostgresError where error.isTransient || !error.connectionUsable {
                guard let pause = retries.next() else { throw error }
                context.messages.warning("the database cannot be reached, \(pause.words): \(error)")
                try await Task.sleep(for: pause.wait)
            }
        }
    }

    private func requestOnce(_ users: [UUID]) async throws -> [BulkResult] {
        let (desk, reason, grace) = (desk, reason, grace)
        let openings = try await pool.withConnection { connection in
            try await desk.requestMany(users, reason: reason, grace: grace, on: connection)
        }
        return users.map { user in
            switch openings[user] {
            case .opened(let request): BulkResult(userID: user, outcome: .requested, request: request)
            case .found(let request): BulkResult(userID: user, outcome: .found, request: request)
            case .erased: BulkResult(userID: user, outcome: .erased)
            case .unknownUser, nil: BulkResult(userID: user, outcome: .unknownUser)
            }
        }
    }

    /// Whether the error may concern a single row only: a missing privilege or table (SQLSTATE class 42) affects every
    /// row, and so does an unreachable database.
    private static func isOfOneRow(_ error: PostgresError) -> Bool {
        error.connectionUsable && !error.isTransient && error.code == .server && error.sqlState?.class.rawValue != "42"
    }
}
