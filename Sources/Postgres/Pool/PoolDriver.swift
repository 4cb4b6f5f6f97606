import Logging
import Synchronization

/// Carries out the decisions of ``PoolStateMachine``: passes connections to requests, opens new ones, closes old ones.
final class PoolDriver: Sendable {
    private struct State {
        var machine: PoolStateMachine
        var connections: [PoolStateMachine.ConnectionID: Connection] = [:]
        /// Connections being opened.
        var openings: [PoolStateMachine.ConnectionID: Task<Void, Never>] = [:]
        /// Waits for the end of a back-off.
        var ticker: Task<Void, Never>?
        var isClosed = false
        var serial = 0
    }

    /// The reply to a waiting request.
    private enum Reply: Sendable {
        case grant(PoolStateMachine.Grant)
        /// No connection can be opened.
        case failure(any Error)
        /// The request was cancelled, or its deadline passed.
        case nothing
    }

    private let configuration: PoolConfiguration
    private let connector: PoolConnector
    private let state: Mutex<State>
    private let replies = ReplyDesk<PoolStateMachine.RequestID, Reply>()

    init(_ configuration: PoolConfiguration, logger: Logger) {
        self.configuration = configuration
        connector = PoolConnector(configuration, logger: logger)
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

    /// How many connections are idle, how many are leased or being opened, and how many requests wait.
    var counts: (idle: Int, inUse: Int, waiting: Int) {
        state.withLock { $0.machine.counts }
    }

    // MARK: Acquiring

    /// The progress of a request for a connection.
    struct Acquisition {
        fileprivate let request: PoolStateMachine.RequestID
        fileprivate let deadline: ContinuousClock.Instant
        fileprivate var isFirst = true
    }

    /// Creates a request for a connection, which waits until `deadline` at the latest.
    func newAcquisition(until deadline: ContinuousClock.Instant) -> Acquisition {
        let serial = state.withLock { state in
            state.serial += 1
            return state.serial
        }
        return Acquisition(request: PoolStateMachine.RequestID(number: serial), deadline: deadline)
    }

    /// Acquires a connection, and returns whether it was in use before and so may have been lost meanwhile.
    ///
    /// If it was lost, acquiring again with the same request comes before all waiting requests.
    func acquire(
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
            throw connector.failure
                ?? PostgresError(
                    .poolExhausted,
                    reason: "no connection became free within \(configuration.acquireDeadline)"
                )
        }
    }

    private func connection(_ id: PoolStateMachine.ConnectionID) -> Connection {
        guard let connection = state.withLock({ $0.connections[id] }) else {
            preconditionFailure("what is granted has a connection until it comes back")
        }
        return connection
    }

    /// Requests a connection and waits for the answer.
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
                await replies.reply(to: request)
            } onCancel: {
                withdraw(request)
            }
            group.cancelAll()
            return reply
        }
    }

    /// Ends a wait without a grant, unless the request was granted something at this very moment.
    private func withdraw(_ request: PoolStateMachine.RequestID) {
        guard state.withLock({ $0.machine.giveUp(request) }) else { return }
        replies.deliver(.nothing, to: request)
    }

    // MARK: Connecting

    private func connect(_ id: PoolStateMachine.ConnectionID, until deadline: ContinuousClock.Instant) async {
        let jitter = Double.random(in: 0...1)
        switch await connector.connect(until: deadline) {
        case .made(let connection):
            await connection.whenLost { [weak self] in self?.lost(id) }
            let actions = state.withLock { state in
                state.connections[id] = connection
                return state.machine.connected(id, now: .now, jitter: jitter)
            }
            await carryOut(actions)
        case .failed(let error, let mayRetry):
            let actions = state.withLock { state in
                state.machine.connectingFailed(id, mayRetry: mayRetry, now: .now, jitter: jitter)
            }
            await carryOut(actions, failure: error)
        }
    }

    /// Closes an idle connection that the server has ended; called on its own thread.
    private func lost(_ id: PoolStateMachine.ConnectionID) {
        let closed = state.withLock { state in
            state.machine.lost(id).close.compactMap { state.connections.removeValue(forKey: $0) }
        }
        for connection in closed { connection.assumeIsolated { $0.close() } }
    }

    // MARK: Releasing

    /// Takes back a connection that was leased.
    func release(_ id: PoolStateMachine.ConnectionID, isUsable: Bool) async {
        let actions = state.withLock { $0.machine.release(id, isUsable: isUsable, now: .now) }
        await carryOut(actions)
    }

    /// Carries out the machine's actions; `failure` is the error for requests whose connection cannot be opened.
    private func carryOut(_ actions: PoolStateMachine.Actions, failure: (any Error)? = nil) async {
        let closed = state.withLock { state in
            if !state.isClosed { begin(actions, &state) }
            return actions.close.compactMap { state.connections.removeValue(forKey: $0) }
        }
        for (request, grant) in actions.grants {
            let reply = grant == .failed ? failure.map { .failure($0) } ?? .grant(grant) : Reply.grant(grant)
            replies.deliver(reply, to: request)
        }
        for connection in closed { await connection.close() }
    }

    /// Starts background tasks: opening connections, waiting for the end of a back-off.
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

    /// Closes everything; connections being opened are cancelled and awaited.
    func close() async {
        let (actions, tasks) = state.withLock { state in
            state.isClosed = true
            return (state.machine.close(), Array(state.openings.values) + [state.ticker].compactMap(\.self))
        }
        for task in tasks { task.cancel() }
        await carryOut(actions)
        for task in tasks { await task.value }
    }
}
