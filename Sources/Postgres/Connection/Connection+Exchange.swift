import EventThread
import LibPQ

/// Sending and receiving: the only code that waits for the server.
extension Connection {
    /// Runs one operation from sending to its last result.
    ///
    /// `body` sends, and reads all results unless it throws. The call's own `deadline` takes precedence over the
    /// configuration's; `isCancellable` is false for an operation that has to complete.
    func operate<Result>(
        _ phase: ProtocolState.Phase,
        deadline: Duration?,
        isCancellable: Bool = true,
        _ body: (ConnectionHandle) throws -> Result
    ) throws -> Result {
        if isCancellable { try Task.checkCancellation() }
        try state.begin(phase)
        guard let handle else { throw PostgresError(.connectionLost, connectionUsable: false) }
        if let deadline { longestDeadline = max(longestDeadline, deadline) }
        let limit = deadline ?? configuration.statementDeadline
        let now = ContinuousClock.now
        operation = Operation(
            deadline: limit.map { now.advanced(by: $0) },
            isCancellable: isCancellable,
            grace: configuration.cancelGrace
        )
        operation.dropAt = openingEnds
        operation.tooSlowFrom = limit.map { now.advanced(by: $0 * 0.9) }
        defer {
            takeHeldInput(handle)
            deliverNotifications()
            if hasEnded(handle) { lose() }
            state.end()
        }
        return try body(handle)
    }

    /// Sends everything queued, reading meanwhile: a server that cannot send does not receive.
    func flush(_ handle: ConnectionHandle) throws {
        while true {
            switch handle.flush() {
            case true?: return
            case false?: try wait(handle, [.read, .write])
            case nil: throw lost(handle)
            }
            // nextResult() reports a failure.
            _ = handle.consumeInput()
        }
    }

    /// Returns the next result; nil after the last one.
    func nextResult(_ handle: ConnectionHandle) throws -> QueryResult? {
        while handle.isBusy {
            try wait(handle, .read)
            // A failure becomes an error result with libpq's message.
            if !handle.consumeInput() { break }
        }
        return handle.nextResult()
    }

    /// Consumes the bytes that TLS still holds of a record that extends past the last result.
    func takeHeldInput(_ handle: ConnectionHandle) {
        while state.phase != .lost, handle.holdsInput, handle.consumeInput() {
            // Makes libpq parse its input, which frees buffer space.
            _ = handle.isBusy
        }
    }

    /// Waits for the socket, or for bytes that TLS has already received; asks the server to stop once the deadline or a
    /// cancellation requires it.
    func wait(_ handle: ConnectionHandle, _ events: IOEvents) throws {
        while true {
            let now = ContinuousClock.now
            switch operation.verdict(at: now, taskIsCancelled: Task.isCancelled) {
            case .goOn: break
            case .interrupt(let reason): try interrupt(handle, reason)
            case .abandon: throw abandon()
            }
            if events.contains(.read), handle.holdsInput { return }
            let look = operation.nextLook(at: now)
            if case .ready = thread.wait(for: Interest(handle.socket, events), until: look) { return }
        }
    }

    /// Asks the server to stop the running statement, and waits until it has the request: one still under way would hit
    /// the next statement.
    func interrupt(_ handle: ConnectionHandle, _ reason: Operation.Interruption) throws {
        operation.interrupted(reason, at: .now)
        guard let cancel = handle.cancelHandle() else { return }
        let grace = ContinuousClock.now.advanced(by: configuration.cancelGrace)
        let deadline = operation.dropAt.map { min($0, grace) } ?? grace
        guard let request = CancelRequest(cancel, waking: thread) else { throw abandon() }
        while !request.isDone {
            // Sent on a thread of its own, and awaited: PQcancel connects, blocks and has no timeout.
            if thread.wait(for: [], until: deadline) == .deadline { throw abandon() }
        }
    }

    /// Drops a connection that did not respond in time.
    func abandon() -> PostgresError {
        lose()
        handle = nil
        return PostgresError(
            .abandoned,
            reason: "the server did not stop a statement within \(configuration.cancelGrace)",
            connectionUsable: false,
            outcomeKnown: false
        )
    }

    /// The error of a connection that failed without a result.
    func lost(_ handle: ConnectionHandle) -> PostgresError {
        let diagnostics = Diagnostics([.message: handle.errorMessage])
        lose()
        return PostgresError(
            .connectionLost,
            diagnostics: diagnostics,
            reason: "the connection to the server was lost",
            connectionUsable: false,
            outcomeKnown: false
        )
    }

    /// Reads all remaining results and returns the first error among them, or nil.
    func drain(_ handle: ConnectionHandle) throws -> QueryResult? {
        var failed: QueryResult?
        while let result = try nextResult(handle) {
            switch result.status {
            case .fatalError: failed = failed ?? result
            case .copyIn: try endCopyIn(handle)
            case .copyOut, .copyBoth: try discardCopyOut(handle)
            case .commandOK, .tuplesOK, .singleTuple, .emptyQuery, .other: break
            }
            // Otherwise a broken connection would report the same error forever.
            if handle.isBroken { break }
        }
        return failed
    }

    /// Ends COPY IN without data, waiting until that can be sent.
    func endCopyIn(_ handle: ConnectionHandle) throws {
        while true {
            switch handle.endCopy(failing: "this call does not copy") {
            case true?: return try flush(handle)
            case false?:
                try wait(handle, [.read, .write])
                _ = handle.consumeInput()
            case nil: return
            }
        }
    }

    /// Reads and discards COPY OUT data.
    func discardCopyOut(_ handle: ConnectionHandle) throws {
        while true {
            switch handle.discardCopyData() {
            case .data: continue
            case .end, .failed: return
            case .wait:
                try wait(handle, .read)
                guard handle.consumeInput() else { return }
            }
        }
    }

    /// Throws if a statement was interrupted while it was being prepared: the server had nothing to stop, and is not
    /// asked twice.
    func checkInterruption(before statement: String) throws {
        switch operation.interruption {
        case .cancelled: throw CancellationError()
        case .deadline: throw tooSlow(nil, statement)
        case .abandonedByCaller, nil: break
        }
    }

    private func tooSlow(_ diagnostics: Diagnostics?, _ statement: String?) -> PostgresError {
        PostgresError(
            .deadlineExceeded,
            diagnostics: diagnostics,
            statement: statement,
            reason: "the statement's deadline came"
        )
    }

    /// The error to throw for an error result, taking an interruption into account.
    func error(_ result: QueryResult, _ handle: ConnectionHandle, statement: String?) -> any Error {
        let diagnostics = Diagnostics(result.errorFields)
        let isBroken = handle.isBroken
        if diagnostics.sqlState == SQLState.readOnlyTransaction.rawValue { wasReadOnly = true }
        if !isBroken, diagnostics.sqlState == SQLState.queryCanceled.rawValue {
            switch operation.interruption {
            case .cancelled: return CancellationError()
            case .deadline: return tooSlow(diagnostics, statement)
            case .abandonedByCaller: break
            case nil:
                // Cancelled by the server's own limit; a cancel request from somebody else is passed on as the server's
                // error.
                if let from = operation.tooSlowFrom, from <= .now { return tooSlow(diagnostics, statement) }
            }
        }
        return PostgresError(
            isBroken ? .connectionLost : .server,
            diagnostics: diagnostics,
            statement: statement,
            reason: isBroken ? "the connection to the server was lost" : nil,
            connectionUsable: !isBroken,
            outcomeKnown: !isBroken
        )
    }
}
