import EventThread
import LibPQ

/// Sending and receiving: the only place that waits for the server.
extension Connection {
    /// Runs one operation from sending to its last result.
    ///
    /// `body` sends and reads, to the very end unless it throws. The call's own `deadline` comes before the
    /// configuration's; `isCancellable` is false for what has to come to its end.
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

    /// Pushes out everything queued, reading meanwhile: a server that cannot send does not receive.
    func flush(_ handle: ConnectionHandle) throws {
        while true {
            switch handle.flush() {
            case true?: return
            case false?: try wait(handle, [.read, .write])
            case nil: throw lost(handle)
            }
            // Told by nextResult() if it fails.
            _ = handle.consumeInput()
        }
    }

    /// The next result, nil after the last one.
    func nextResult(_ handle: ConnectionHandle) throws -> QueryResult? {
        while handle.isBusy {
            try wait(handle, .read)
            // A failure shows as an error result, which has libpq's message.
            if !handle.consumeInput() { break }
        }
        return handle.nextResult()
    }

    /// Takes what TLS keeps of a record that ends behind the last result.
    func takeHeldInput(_ handle: ConnectionHandle) {
        while state.phase != .lost, handle.holdsInput, handle.consumeInput() {
            // Takes it apart, which makes room.
            _ = handle.isBusy
        }
    }

    /// Waits for the socket, or what TLS keeps of what came from it; asks the server to stop when the deadline or a
    /// cancellation says so.
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

    /// Asks the server to stop what runs, and waits until it has the request: one on its way would hit the next
    /// statement.
    func interrupt(_ handle: ConnectionHandle, _ reason: Operation.Interruption) throws {
        operation.interrupted(reason, at: .now)
        guard let cancel = handle.cancelHandle() else { return }
        let grace = ContinuousClock.now.advanced(by: configuration.cancelGrace)
        let deadline = operation.dropAt.map { min($0, grace) } ?? grace
        guard let request = CancelRequest(cancel, waking: thread) else { throw abandon() }
        while !request.isDone {
            // On a thread of its own and waited for: PQcancel connects, blocks and knows no timeout.
            if thread.wait(for: [], until: deadline) == .deadline { throw abandon() }
        }
    }

    /// Drops a connection that did not come back in time.
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

    /// What a connection that failed without a result throws.
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

    /// Reads on to the end and gives the first error on the way, or nil.
    func drain(_ handle: ConnectionHandle) throws -> QueryResult? {
        var failed: QueryResult?
        while let result = try nextResult(handle) {
            switch result.status {
            case .fatalError: failed = failed ?? result
            case .copyIn: try endCopyIn(handle)
            case .copyOut, .copyBoth: try discardCopyOut(handle)
            case .commandOK, .tuplesOK, .singleTuple, .emptyQuery, .other: break
            }
            // Without this a broken connection reports the same error for ever.
            if handle.isBroken { break }
        }
        return failed
    }

    /// Ends COPY IN without data, waiting for room to say so.
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

    /// Reads COPY OUT data away.
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

    /// Refuses to run a statement that was to be stopped while it was made ready: the server had nothing to stop, and
    /// is not asked twice.
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

    /// The error to throw for an error result, an interruption taken into account.
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
                // By the server's own limit; somebody else's cancel request comes through as the server's error.
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
