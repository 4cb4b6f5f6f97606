package import Logging
import Synchronization

/// A few connections shared by many tasks: first come, first served.
///
/// Connections are made when they are needed, and kept; a request that waits for a new one takes one that is released
/// first. There is nothing to run: a pool lives as long as the closure it is given to, and so does whatever it began.
///
/// ```swift
/// try await Pool.withPool(PoolConfiguration(connection: configuration), logger: logger) { pool in
///     let count = try await pool.withConnection { connection in
///         try connection.one("select count(*) from auth.users", as: Int.self)
///     }
/// }
/// ```
///
/// The closures are isolated to their connection: inside, statements are synchronous calls on the connection's own
/// thread. Their child tasks run on that thread too, one after the other; keep CPU-heavy work out, and do not ask the
/// pool for a second connection while holding one: with all connections held that way nobody would ever get it.
package final class Pool: Sendable {
    private struct State {
        var machine: PoolStateMachine
        var connections: [PoolStateMachine.ConnectionID: Connection] = [:]
        /// Connections being made.
        var openings: [PoolStateMachine.ConnectionID: Task<Void, Never>] = [:]
        /// Waits for the end of a back-off.
        var ticker: Task<Void, Never>?
        var isClosed = false
        /// Why the last attempt to connect failed; nil once one went well.
        var failure: PostgresError?
        var continuations: [PoolStateMachine.RequestID: CheckedContinuation<Reply, Never>] = [:]
        /// Answers that came before the request began to wait for them.
        var early: [PoolStateMachine.RequestID: Reply] = [:]
        var serial = 0
        /// Found out by a connection.
        var route: Route?
    }

    /// What a request that waited hears.
    private enum Reply: Sendable {
        case grant(PoolStateMachine.Grant)
        /// No connection can be made.
        case failure(any Error)
        /// It was cancelled, or its time is over.
        case nothing
    }

    /// How it behaves.
    package let configuration: PoolConfiguration
    private let logger: Logger
    private let state: Mutex<State>

    private init(_ configuration: PoolConfiguration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
        state = Mutex(
            State(
                machine: PoolStateMachine(
                    configuration: PoolStateMachine.Configuration(
                        maximum: max(1, configuration.maximumConnections),
                        maximumAge: configuration.maximumAge,
                        initialBackoff: configuration.initialBackoff,
                        maximumBackoff: configuration.maximumBackoff
                    )
                )
            )
        )
    }

    /// Gives `body` a pool and closes it afterwards.
    @discardableResult
    package static func withPool<Result: Sendable>(
        _ configuration: PoolConfiguration,
        logger: Logger,
        _ body: @Sendable (Pool) async throws -> Result
    ) async throws -> Result {
        let pool = Pool(configuration, logger: logger)
        do {
            let result = try await body(pool)
            await pool.close()
            return result
        } catch {
            await pool.close()
            throw error
        }
    }

    /// Leases a connection for the duration of a closure.
    ///
    /// A transaction that the closure leaves open is rolled back, and the connection dropped.
    ///
    /// - Throws: What `body` throws; ``PostgresError`` `poolExhausted` when no connection came free in time, what the
    ///   last attempt to make one told when there is no server, `poolClosed`; `CancellationError`.
    @discardableResult
    package func withConnection<Result: Sendable>(
        _ body: @Sendable (isolated Connection) async throws -> Result
    ) async throws -> Result {
        var acquisition = Acquisition(
            request: nextRequest(),
            deadline: .now.advanced(by: configuration.acquireDeadline)
        )
        while true {
            let (id, connection, isUsed) = try await acquire(&acquisition)
            // All of a lease happens on the connection's thread, its beginning and its end included: every change of
            // threads is two wake-ups, which cost as much as a statement.
            let result: Result? = try await connection.lease { connection in
                // It may have been lost since it was last looked at.
                guard !isUsed || connection.isAlive() else {
                    await self.give(id, back: connection, isUsable: false)
                    return nil
                }
                do {
                    let result = try await body(connection)
                    await self.give(id, back: connection, isUsable: connection.isReusable())
                    return result
                } catch {
                    await self.give(id, back: connection, isUsable: connection.isReusable())
                    throw error
                }
            }
            if let result { return result }
        }
    }

    /// Leases a connection and runs a closure in a transaction on it.
    ///
    /// - Throws: As ``withConnection(_:)`` and ``Connection/transaction(isolation:readOnly:_:)``.
    @discardableResult
    package func withTransaction<Result: Sendable>(
        isolation: IsolationLevel = .readCommitted,
        readOnly: Bool = false,
        _ body: @Sendable (isolated Connection) async throws -> Result
    ) async throws -> Result {
        try await withConnection { connection in
            try await connection.transaction(isolation: isolation, readOnly: readOnly, body)
        }
    }

    /// How many connections there are at most.
    package var maximumConnections: Int { max(1, configuration.maximumConnections) }

    /// How many connections lie ready, are leased or being made, and how many requests wait.
    package var counts: (idle: Int, inUse: Int, waiting: Int) {
        state.withLock { $0.machine.counts }
    }

    // MARK: Acquiring

    /// What a request for a connection has come to so far.
    private struct Acquisition {
        let request: PoolStateMachine.RequestID
        let deadline: ContinuousClock.Instant
        var isFirst = true
    }

    private func nextRequest() -> PoolStateMachine.RequestID {
        state.withLock { state in
            state.serial += 1
            return PoolStateMachine.RequestID(number: state.serial)
        }
    }

    /// A connection to lease, and whether it was in use before: then it may have been lost meanwhile.
    private func acquire(
        _ acquisition: inout Acquisition
    ) async throws -> (id: PoolStateMachine.ConnectionID, connection: Connection, isUsed: Bool) {
        try Task.checkCancellation()
        let again = !acquisition.isFirst
        acquisition.isFirst = false
        switch await reply(to: acquisition.request, again: again, until: acquisition.deadline) {
        case .grant(.lease(let id)): return (id, connection(id), true)
        case .grant(.new(let id)): return (id, connection(id), false)
        case .grant(.closed): throw PostgresError(.poolClosed, connectionUsable: false)
        case .failure(let error): throw error
        case .grant(.failed), .nothing:
            try Task.checkCancellation()
            throw state.withLock(\.failure)
                ?? PostgresError(
                    .poolExhausted,
                    reason: "no connection came free within \(configuration.acquireDeadline)"
                )
        }
    }

    private func connection(_ id: PoolStateMachine.ConnectionID) -> Connection {
        guard let connection = state.withLock({ $0.connections[id] }) else { preconditionFailure() }
        return connection
    }

    // MARK: Connecting

    private func connect(_ id: PoolStateMachine.ConnectionID, until deadline: ContinuousClock.Instant) async {
        let jitter = Double.random(in: 0...1)
        // A little before the end of the request that it is made for, which can then tell why it got none.
        let spare = min((deadline - .now) / 10, .milliseconds(100))
        do {
            let connection = try Connection(configuration: configuration.connection, logger: logger)
            let route = try await connection.open(
                knownRoute: state.withLock { $0.route },
                until: deadline.advanced(by: .zero - spare)
            )
            let actions = state.withLock { state in
                state.connections[id] = connection
                // One that could not be found out is asked for again.
                if route != .unknownPooler { state.route = route }
                state.failure = nil
                return state.machine.connected(id, now: .now, jitter: jitter)
            }
            await carryOut(actions)
        } catch {
            let failure = (error as? PostgresError).flatMap { Self.mayRetry($0) ? $0 : nil }
            logger.debug("could not connect", metadata: ["reason": "\(error)"])
            // An attempt that was cut off says less than one that the server answered.
            let isCutOff = ContinuousClock.now >= deadline.advanced(by: .zero - spare)
            let actions = state.withLock { state in
                if !isCutOff || state.failure == nil { state.failure = failure ?? state.failure }
                return state.machine.connectingFailed(id, mayRetry: failure != nil, now: .now, jitter: jitter)
            }
            await carryOut(actions, failure: error)
        }
    }

    /// Whether another attempt may help: not when the server said who we are or what we want is wrong.
    private static func mayRetry(_ error: PostgresError) -> Bool {
        (error.code == .connectionFailed || error.code == .connectionLost) && error.isTransient
    }

    /// Asks for a connection and waits for the answer.
    private func reply(
        to request: PoolStateMachine.RequestID,
        again: Bool,
        until deadline: ContinuousClock.Instant
    ) async -> Reply {
        let (answer, actions) = state.withLock { state in
            again
                ? state.machine.requestAgain(request, until: deadline, now: .now)
                : state.machine.request(request, until: deadline, now: .now)
        }
        await carryOut(actions)
        if case .granted(let grant) = answer { return .grant(grant) }
        return await withTaskGroup(of: Void.self) { group in
            group.addTask { [self] in
                try? await Task.sleep(until: deadline, clock: .continuous)
                if !Task.isCancelled { withdraw(request) }
            }
            let reply = await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let early = state.withLock { state in
                        if let early = state.early.removeValue(forKey: request) { return Optional.some(early) }
                        state.continuations[request] = continuation
                        return nil
                    }
                    if let early { continuation.resume(returning: early) }
                }
            } onCancel: {
                withdraw(request)
            }
            group.cancelAll()
            return reply
        }
    }

    /// Ends a wait without a grant, unless it was granted something in this very moment.
    private func withdraw(_ request: PoolStateMachine.RequestID) {
        let continuation = state.withLock { state -> CheckedContinuation<Reply, Never>? in
            guard state.machine.giveUp(request) else { return nil }
            if let continuation = state.continuations.removeValue(forKey: request) { return continuation }
            // The cancellation handler may run before the wait has begun.
            state.early[request] = .nothing
            return nil
        }
        continuation?.resume(returning: .nothing)
    }

    // MARK: Releasing

    private func give(_ id: PoolStateMachine.ConnectionID, back connection: Connection, isUsable: Bool) async {
        let actions = state.withLock { $0.machine.release(id, isUsable: isUsable, now: .now) }
        await carryOut(actions)
    }

    /// Does what the machine says; `failure` is what those are told whose connection cannot be made.
    private func carryOut(_ actions: PoolStateMachine.Actions, failure: (any Error)? = nil) async {
        let (resumed, closed) = state.withLock { state in
            var resumed: [(CheckedContinuation<Reply, Never>, Reply)] = []
            for (request, grant) in actions.grants {
                let reply = grant == .failed ? failure.map { .failure($0) } ?? .grant(grant) : Reply.grant(grant)
                if let continuation = state.continuations.removeValue(forKey: request) {
                    resumed.append((continuation, reply))
                } else {
                    state.early[request] = reply
                }
            }
            if !state.isClosed { begin(actions, &state) }
            return (resumed, actions.close.compactMap { state.connections.removeValue(forKey: $0) })
        }
        for (continuation, reply) in resumed { continuation.resume(returning: reply) }
        for connection in closed { await connection.close() }
    }

    /// Begins what goes on by itself: making connections, waiting for the end of a back-off.
    private func begin(_ actions: PoolStateMachine.Actions, _ state: inout State) {
        for (id, deadline) in actions.connect {
            state.openings[id] = Task(name: "pool connecting") { [self] in
                await connect(id, until: deadline)
                self.state.withLock { $0.openings[id] = nil }
            }
        }
        guard let tickAt = actions.tickAt, state.ticker == nil else { return }
        state.ticker = Task(name: "pool back-off") { [self] in
            try? await Task.sleep(until: tickAt, clock: .continuous)
            let actions = self.state.withLock { state in
                state.ticker = nil
                return state.machine.tick(now: .now)
            }
            await carryOut(actions)
        }
    }

    /// Ends everything; what is being made is given up, and its end awaited.
    private func close() async {
        let (actions, tasks) = state.withLock { state in
            state.isClosed = true
            return (state.machine.close(), Array(state.openings.values) + [state.ticker].compactMap(\.self))
        }
        for task in tasks { task.cancel() }
        await carryOut(actions)
        for task in tasks { await task.value }
    }
}
