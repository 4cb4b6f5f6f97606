import LibPQ

/// The isolation level of a transaction.
package enum IsolationLevel: String, Sendable {
    case readCommitted = "read committed"
    case repeatableRead = "repeatable read"
}

extension Connection {
    /// Runs a body in a transaction: committed when it returns, rolled back when it throws.
    ///
    /// Read committed unless specified otherwise, whatever the database's default: after taking a lock, the transaction
    /// has to see what was written before.
    ///
    /// COMMIT, which runs deferred constraint checks, has the default deadline or the longest deadline of a call in
    /// `body`.
    ///
    /// - Throws: What `body` throws. ``PostgresError`` `commitInDoubt` if the connection broke during COMMIT, so that
    ///   its outcome is unknown: check the data, never just repeat. An error that the server reports at COMMIT, such as
    ///   a deferred constraint's, is an ordinary one; so is `connectionLost` of a session that the server had already
    ///   ended because the transaction was idle for too long. `transactionRolledBack` if a statement had failed and
    ///   `body` returned nevertheless; `transactionState` inside another transaction (use ``savepoint(_:)``).
    @discardableResult
    package func transaction<Result>(
        isolation level: IsolationLevel = .readCommitted,
        readOnly: Bool = false,
        _ body: (isolated Connection) async throws -> Result
    ) async throws -> Result {
        guard !isInTransaction else {
            throw PostgresError(.transactionState, reason: "a transaction is open already: use a savepoint")
        }
        try begin(level, readOnly: readOnly)
        // A rollback undoes SET, and COMMIT may end in a rollback, too.
        let limit = serverLimit
        var isCommitted = false
        defer { if !isCommitted || !route.keepsSession { serverLimit = limit } }
        let result: Result
        do {
            result = try await body(self)
            // A cancelled task must not commit work of which it may have skipped half.
            try Task.checkCancellation()
        } catch {
            rollback()
            throw error
        }
        try commit()
        isCommitted = true
        return result
    }

    /// Runs a statement under a server limit as long as its call's deadline: in a transaction of its own if the session
    /// keeps no settings.
    func allowing<Result>(_ deadline: Duration?, _ body: () throws -> Result) throws -> Result {
        guard !route.keepsSession, let deadline, exceedsServerLimit(deadline), !isInTransaction else {
            return try body()
        }
        let limit = serverLimit
        defer { serverLimit = limit }
        // The pooler may let the beginning wait just as long as the statement itself.
        try begin(.readCommitted, readOnly: false, deadline: deadline)
        do {
            let result = try body()
            try commit()
            return result
        } catch {
            rollback()
            throw error
        }
    }

    /// Runs a body in a savepoint: if it fails, its changes are undone and the surrounding transaction stays usable.
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
            // Both in one message; the savepoint is also released, so that a loop does not accumulate them.
            attemptEnd("rollback to savepoint \(name); release savepoint \(name)")
            serverLimit = limit
            throw error
        }
    }

    /// Begins a transaction, including the settings it needs if the session keeps none.
    private func begin(_ level: IsolationLevel, readOnly: Bool, deadline: Duration? = nil) throws {
        let sql = "begin isolation level \(level.rawValue)" + (readOnly ? " read only" : "")
        let settings = route.keepsSession ? [] : transactionStart(readOnly: readOnly)
        if settings.isEmpty {
            try run(Statement(unsafeSQL: sql), binaryResult: true, deadline: deadline)
        } else {
            do {
                try script(unsafeSQL: ([sql] + settings).joined(separator: "; "), deadline: deadline)
            } catch {
                // A cancellation may have come between the two statements.
                rollback()
                throw error
            }
        }
        longestDeadline = .zero
    }

    private func commit() throws {
        // Lost before COMMIT was sent: the server has rolled back, so nothing is in doubt.
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
                // COMMIT runs deferred constraint checks, which may take as long as the statements that they belong to.
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

    /// Runs a statement that ends a transaction or savepoint, even if the task is cancelled.
    ///
    /// A failure drops the connection, which also rolls back; the caller throws the error that led here.
    private func attemptEnd(_ sql: String) {
        do {
            try operate(.busy, deadline: configuration.cancelGrace, isCancellable: false) { try runScript(sql, $0) }
        } catch {
            lose()
            handle = nil
        }
    }
}
