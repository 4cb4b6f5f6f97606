package import Logging
import Synchronization

/// A few connections shared by many tasks: first come, first served.
///
/// Connections are made when they are needed, by the task that needs one, and kept for the next. There is nothing to run: a pool
/// lives as long as the closure it is given to.
///
/// ```swift
/// try await Pool.withPool(PoolConfiguration(connection: configuration), logger: logger) { pool in
///     let count = try await pool.withConnection { connection in
///         try connection.one("select count(*) from auth.users", as: Int.self)
///     }
/// }
/// ```
///
/// The closures are isolated to their connection: inside, statements are synchronous calls on the connection's own thread. Their
/// child tasks run on that thread too, one after the other; keep CPU-heavy work out, and do not ask the pool for a second
/// connection while holding one: with all connections held that way nobody would ever get it.
package final class Pool: Sendable {
    private struct State {
        var machine: PoolStateMachine
        var connections: [PoolStateMachine.ConnectionID: Connection] = [:]
        var continuations: [PoolStateMachine.RequestID: CheckedContinuation<PoolStateMachine.Grant?, Never>] = [:]
        /// Answers that came before the request began to wait for them.
        var early: [PoolStateMachine.RequestID: PoolStateMachine.Grant?] = [:]
        var serial = 0
        /// Found out by the first connection.
        var route: Route?
    }

    private let configuration: PoolConfiguration
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
    /// - Throws: What `body` throws; ``PostgresError`` `poolExhausted` when no connection came free in time, what the last attempt
    ///   to make one told when there is no server, `poolClosed`; `CancellationError`.
    @discardableResult
    package func withConnection<Result: Sendable>(
        _ body: @Sendable (isolated Connection) async throws -> Result
    ) async throws -> Result {
        var acquisition = Acquisition(
            request: nextRequest(),
            deadline: .now.advanced(by: configuration.acquireDeadline)
        )
        while true {
            let (id, connection, wasIdle) = try await acquire(&acquisition)
            // All of a lease happens on the connection's thread, its beginning and its end included: every change of threads is
            // two wake-ups, which cost as much as a statement.
            let result: Result? = try await connection.lease { connection in
                // It may have been lost since it was last looked at.
                guard !wasIdle || connection.isAlive() else {
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
        isolation: IsolationLevel? = nil,
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
        var lastFailure: PostgresError?
    }

    private func nextRequest() -> PoolStateMachine.RequestID {
        state.withLock { state in
            state.serial += 1
            return PoolStateMachine.RequestID(number: state.serial)
        }
    }

    /// A connection to lease, and whether it lay ready: then it may have been lost meanwhile.
    private func acquire(
        _ acquisition: inout Acquisition
    ) async throws -> (id: PoolStateMachine.ConnectionID, connection: Connection, wasIdle: Bool) {
        while true {
            try Task.checkCancellation()
            let again = !acquisition.isFirst
            acquisition.isFirst = false
            switch try await grant(acquisition.request, again: again, until: acquisition.deadline) {
            case .closed: throw PostgresError(.poolClosed, connectionUsable: false)
            case nil:
                try Task.checkCancellation()
                throw acquisition.lastFailure
                    ?? PostgresError(
                        .poolExhausted,
                        reason: "no connection came free within \(configuration.acquireDeadline)"
                    )
            case .lease(let id):
                guard let connection = state.withLock({ $0.connections[id] }) else { preconditionFailure() }
                return (id, connection, true)
            case .connect(let id):
                do {
                    return (id, try await connect(id, until: acquisition.deadline), false)
                } catch let error as PostgresError where Self.mayRetry(error) {
                    acquisition.lastFailure = error
                    logger.debug("could not connect", metadata: ["reason": "\(error)"])
                }
            }
        }
    }

    private func connect(
        _ id: PoolStateMachine.ConnectionID,
        until deadline: ContinuousClock.Instant
    ) async throws -> Connection {
        let jitter = Double.random(in: 0...1)
        do {
            let connection = try Connection(configuration: configuration.connection, logger: logger)
            let route = try await connection.open(knownRoute: state.withLock { $0.route }, until: deadline)
            let actions = state.withLock { state in
                state.connections[id] = connection
                state.route = route
                return state.machine.connected(id, now: .now, jitter: jitter)
            }
            await carryOut(actions)
            return connection
        } catch {
            let mayRetry = (error as? PostgresError).map(Self.mayRetry) ?? false
            let actions = state.withLock { state in
                state.machine.connectingFailed(id, mayRetry: mayRetry, now: .now, jitter: jitter)
            }
            await carryOut(actions)
            throw error
        }
    }

    /// Whether another attempt may help: not when the server said who we are or what we want is wrong.
    private static func mayRetry(_ error: PostgresError) -> Bool {
        error.code == .connectionFailed || error.code == .connectionLost ? error.isTransient : false
    }

    /// Asks for a grant and waits for it; nil when the deadline came first.
    private func grant(
        _ request: PoolStateMachine.RequestID,
        again: Bool,
        until deadline: ContinuousClock.Instant
    ) async throws -> PoolStateMachine.Grant? {
        let (answer, actions) = state.withLock { state in
            again ? state.machine.requestAgain(request, now: .now) : state.machine.request(request, now: .now)
        }
        await carryOut(actions)
        if case .granted(let grant) = answer { return grant }
        let firstTick = actions.tickAt
        // A timer beside the wait: it ends the wait at the deadline, and before that tries again when a back-off is over.
        return await withTaskGroup(of: Void.self) { group in
            group.addTask { [self] in
                var tickAt = firstTick
                while !Task.isCancelled {
                    // Now and then without an appointment: the request that had it may have given up since.
                    let next = min(tickAt ?? .now.advanced(by: .seconds(1)), deadline)
                    try? await Task.sleep(until: next, clock: .continuous)
                    if Task.isCancelled { return }
                    if ContinuousClock.now >= deadline { return withdraw(request) }
                    let actions = state.withLock { $0.machine.tick(now: .now) }
                    tickAt = actions.tickAt
                    await carryOut(actions)
                }
            }
            let grant = await withTaskCancellationHandler {
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
            return grant
        }
    }

    /// Ends a wait without a grant, unless it was granted something in this very moment.
    private func withdraw(_ request: PoolStateMachine.RequestID) {
        let continuation = state.withLock { state -> CheckedContinuation<PoolStateMachine.Grant?, Never>? in
            guard state.machine.giveUp(request) else { return nil }
            if let continuation = state.continuations.removeValue(forKey: request) { return continuation }
            // The cancellation handler may run before the wait has begun.
            state.early[request] = .some(nil)
            return nil
        }
        continuation?.resume(returning: nil)
    }

    // MARK: Releasing

    private func give(_ id: PoolStateMachine.ConnectionID, back connection: Connection, isUsable: Bool) async {
        let actions = state.withLock { $0.machine.release(id, isUsable: isUsable, now: .now) }
        await carryOut(actions)
    }

    private func carryOut(_ actions: PoolStateMachine.Actions) async {
        let (resumed, closed) = state.withLock { state in
            var resumed: [(CheckedContinuation<PoolStateMachine.Grant?, Never>, PoolStateMachine.Grant)] = []
            for (request, grant) in actions.grants {
                if let continuation = state.continuations.removeValue(forKey: request) {
                    resumed.append((continuation, grant))
                } else {
                    state.early[request] = .some(grant)
                }
            }
            return (resumed, actions.close.compactMap { state.connections.removeValue(forKey: $0) })
        }
        for (continuation, grant) in resumed { continuation.resume(returning: grant) }
        for connection in closed { await connection.close() }
    }

    private func close() async {
        await carryOut(state.withLock { $0.machine.close() })
    }
}
