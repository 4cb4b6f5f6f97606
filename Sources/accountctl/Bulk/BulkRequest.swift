import AccountLifecycle
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Asks for the deletion of many accounts: looks first, asks once, works in batches, writes down what was done.
///
/// Asking again finds the open request, so that nothing is lost or done twice whenever a run ends: what was done and
/// not written down is found by the next run, and what was written down is done only where the database has it still.
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
            // The count of the list, not of what is left: the same command line goes on with an unfinished run.
            try context.confirmIrreversible(question(rest, survey), id: "\(list.ids.count)", confirmation)
            var pace = pace
            var obstacle: (any Error)?
            do { try await work(left, results, &pace) } catch { obstacle = error }
            try context.output.show(outcome(rest, pace))
            if let obstacle { throw stop(by: obstacle, pace, left.count) }
            return try end(pace, left.count)
        }
    }

    /// What of the list is left, with a warning of what an operator may not expect.
    ///
    /// In a database that is a copy of another, or older than the file, the requests of the file are not there, or not
    /// all.
    ///
    /// - Parameter requests: the request of each account by the result file.
    /// - Returns: What is left, and how much of the list is not.
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

    /// Looks at all of them, and refuses words that name one before anything is asked.
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
        // However it ends: what is printed next begins a line of its own.
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

    /// One account spoils its batch: the others are done by themselves, and it is told with its error.
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

    /// Asks for some, again and again for a while when the database is away.
    private func request(_ users: [UUID]) async throws -> [BulkResult] {
        var retries = BulkRetries(each: pool.configuration.acquireDeadline)
        while true {
            do {
                return try await requestOnce(users)
            } catch let error as PostgresError where error.isTransient || !error.connectionUsable {
                guard let pause = retries.next() else { throw error }
                context.messages.warning("the database is away, \(pause.words): \(error)")
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

    /// Whether another row may fare better: not so with a missing right or table, nor while the database is away.
    private static func isOfOneRow(_ error: PostgresError) -> Bool {
        error.connectionUsable && !error.isTransient && error.code == .server && error.sqlState?.class.rawValue != "42"
    }
}
