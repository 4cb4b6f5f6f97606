import LibPQ

/// What a transaction sees of others.
package enum IsolationLevel: String, Sendable {
    case readCommitted = "read committed"
    case repeatableRead = "repeatable read"
}

extension Connection {
    /// Runs a body in a transaction: committed when it returns, rolled back when it throws.
    ///
    /// Read committed unless said otherwise, whatever the database's default is: who takes a lock has to see what was
    /// written before.
    ///
    /// COMMIT, which makes the checks that were put off, has the usual deadline or the longest that a call in `body`
    /// named.
    ///
    /// - Throws: What `body` throws. ``PostgresError`` `commitInDoubt` when the connection broke during COMMIT, so that
    ///   nobody knows whether it happened: look at the data, never just repeat. An error that the server reports at
    ///   COMMIT, such as a deferred constraint's, is an ordinary one; so is `connectionLost` of a session that it had
    ///   ended before, since the transaction was silent for too long. `transactionRolledBack` when a statement had
    ///   failed and `body` returned all the same; `transactionState` inside another transaction (use
    ///   ``savepoint(_:)``).
    @discardableResult
    package func transaction<Result>(
        isolation level: IsolationLevel = .readCommitted,
        readOnly: Bool = false,
        _ body: (isolated Connection) async throws -> Result
    ) async throws -> Result {
        guard !isInTransaction else {
            throw PostgresError(.transactionState, reason: "a transaction is open already: use a savepoint")
        }
        try begin("begin isolation level \(level.rawValue)" + (readOnly ? " read only" : ""))
        // SET is undone by a rollback, which is also how a COMMIT may end.
        let limit = serverLimit
        var isCommitted = false
        defer { if !isCommitted || !route.keepsSession { serverLimit = limit } }
        let result: Result
        do {
            result = try await body(self)
            // A cancelled task does not commit what it may have skipped half of.
            try Task.checkCancellation()
        } catch {
            rollback()
            throw error
        }
        try commit()
        isCommitted = true
        return result
    }

    /// Runs a statement for which the server is to allow as long as its call does: where a session keeps no limits, in
    /// a transaction of its own.
    func allowing<Result>(_ deadline: Duration?, _ body: () throws -> Result) throws -> Result {
        guard !route.keepsSession, let deadline, exceedsServerLimit(deadline), !isInTransaction else {
            return try body()
        }
        let limit = serverLimit
        defer { serverLimit = limit }
        try begin("begin isolation level read committed")
        do {
            let result = try body()
            try commit()
            return result
        } catch {
            rollback()
            throw error
        }
    }

    /// Runs a body whose failure undoes what it did and leaves the transaction around it usable.
    ///
    /// - Throws: What `body` throws; `transactionState` outside a transaction.
    @discardableResult
    package func savepoint<Result>(_ body: (isolated Connection) async throws -> Result) async throws -> Result {
        guard isInTransaction else {
            throw PostgresError(.transactionState, reason: "a savepoint needs a transaction around it")
        }
        savepointDepth += 1
        defer { savepointDepth -= 1 }
        let name = "savepoint_\(savepointDepth)"
        let limit = serverLimit
        try run(Statement(unsafeSQL: "savepoint \(name)"), binaryResult: true, deadline: nil)
        do {
            let result = try await body(self)
            try run(Statement(unsafeSQL: "release savepoint \(name)"), binaryResult: true, deadline: nil)
            return result
        } catch {
            // Both in one message: released too, so that a loop does not pile them up.
            attemptEnd("rollback to savepoint \(name); release savepoint \(name)")
            serverLimit = limit
            throw error
        }
    }

    /// Begins a transaction; where a session keeps no settings, with those that it is not to go without.
    private func begin(_ sql: String) throws {
        let settings = route.keepsSession ? [] : transactionSettings
        if settings.isEmpty {
            try run(Statement(unsafeSQL: sql), binaryResult: true, deadline: nil)
        } else {
            do {
                try script(unsafeSQL: sql + "; " + SessionSetting.statements(settings, inTransaction: true))
            } catch {
                // A cancellation may have come between the two.
                rollback()
                throw error
            }
        }
        longestDeadline = .zero
    }

    private func commit() throws {
        // Lost before COMMIT was sent: the server has rolled back, nothing is in doubt.
        guard isUsable else {
            throw PostgresError(
                .connectionLost,
                diagnostics: lastWord,
                reason: "lost before the commit",
                connectionUsable: false
            )
        }
        guard isInTransaction else {
            throw PostgresError(.transactionState, reason: "the transaction was ended inside its own scope")
        }
        do {
            let result = try run(
                Statement(unsafeSQL: "commit"),
                binaryResult: true,
                // It makes the checks that were put off: they may take as long as the statement that they are of.
                deadline: configuration.statementDeadline.map { max($0, longestDeadline) },
                isCancellable: false
            )
            // The server answers COMMIT of a failed transaction by rolling back, without an error.
            if result.commandTag == "ROLLBACK" {
                throw PostgresError(
                    .transactionRolledBack,
                    reason: "a statement had failed and its error was not passed on: the transaction was rolled back"
                )
            }
        } catch let error as PostgresError where !error.connectionUsable {
            throw error.ofCommit()
        }
    }

    private func rollback() {
        if isInTransaction || handle?.transactionStatus == .active { attemptEnd("rollback") }
    }

    /// Ends something in spite of a cancelled task.
    ///
    /// A failure drops the connection, which rolls back too; what the caller throws is the error that led here.
    private func attemptEnd(_ sql: String) {
        do {
            try operate(.busy, deadline: configuration.cancelGrace, isCancellable: false) { handle in
                guard handle.sendQuery(sql) else { throw lost(handle) }
                try flush(handle)
                if let failed = try drain(handle) { throw error(failed, handle, statement: sql) }
            }
        } catch {
            lose()
            handle = nil
        }
    }
}
