import DequeModule

/// Decides which request gets which connection and when to open one; ``PoolDriver`` carries it out.
///
/// A pure state machine: time is an argument, connections are numbers, and every input returns the actions to take. The
/// rules: requests are served first come, first served, by whichever connection is ready first, new or returned. For
/// each waiting request a connection is opened while there are fewer than the maximum. After a failed attempt none is
/// opened before the back-off is over, then one at a time. A connection that is too old is replaced instead of leased,
/// and closed at the next input if nobody needs it.
struct PoolStateMachine: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Identifies a request for a connection.
    struct RequestID: Hashable, Sendable {
        let number: Int
    }

    /// Identifies a connection, including one that is being opened.
    struct ConnectionID: Hashable, Sendable {
        let number: Int
    }

    struct Configuration: Sendable {
        var maximum: Int
        var maximumAge: Duration
        var initialBackoff: Duration
        var maximumBackoff: Duration
    }

    /// The outcome of a request.
    enum Grant: Sendable, Equatable {
        /// This connection, which has been in use.
        case lease(ConnectionID)
        /// This connection, which has just been opened.
        case new(ConnectionID)
        /// Nothing: a connection cannot be opened, and a retry would not help.
        case failed
        /// Nothing: the pool is closed.
        case closed
    }

    /// The answer to a new request.
    enum Answer: Sendable, Equatable {
        case granted(Grant)
        /// The request has to wait for a grant.
        case wait
    }

    /// The actions to take after an input.
    struct Actions: Sendable, Equatable {
        /// Waiting requests that are answered now.
        var grants: [RequestID: Grant] = [:]
        /// Connections to open, each with its deadline.
        var connect: [ConnectionID: Instant] = [:]
        /// Connections to close.
        var close: [ConnectionID] = []
        /// When to call ``tick(now:)``.
        var tickAt: Instant?
    }

    private enum ConnectionState {
        /// Being opened. Next: leased, idle, or gone.
        case connecting
        /// Idle. Next: leased, or gone.
        case idle
        /// In use by a request. Next: idle, or gone.
        case leased
    }

    private struct Member {
        var state: ConnectionState
        var expires: Instant
    }

    private struct Waiting {
        let id: RequestID
        let deadline: Instant
    }

    private let configuration: Configuration
    private var members: [ConnectionID: Member] = [:]
    /// Idle connections, the most recently used last: that one is leased first, so that connections which a quiet pool
    /// does not need reach their maximum age.
    private var idle: [ConnectionID] = []
    private var waiting: Deque<Waiting> = []
    private var failures = 0
    private var noAttemptBefore: Instant?
    private var isClosed = false
    private var serial = 0

    init(configuration: Configuration) {
        self.configuration = configuration
    }

    /// How many connections are idle, how many are leased or being opened, and how many requests wait.
    var counts: (idle: Int, inUse: Int, waiting: Int) { (idle.count, members.count - idle.count, waiting.count) }

    /// Handles a new request, which waits until `deadline` at the latest.
    mutating func request(_ id: RequestID, until deadline: Instant, now: Instant) -> (answer: Answer, actions: Actions)
    {
        if isClosed { return (.granted(.closed), Actions()) }
        waiting.append(Waiting(id: id, deadline: deadline))
        return answer(to: id, now: now)
    }

    /// Puts a request back at the front of the queue, because the connection that it got was dead.
    mutating func requestAgain(
        _ id: RequestID,
        until deadline: Instant,
        now: Instant
    ) -> (answer: Answer, actions: Actions) {
        if isClosed { return (.granted(.closed), Actions()) }
        waiting.prepend(Waiting(id: id, deadline: deadline))
        return answer(to: id, now: now)
    }

    private mutating func answer(to id: RequestID, now: Instant) -> (answer: Answer, actions: Actions) {
        var actions = serve(now: now)
        guard let grant = actions.grants.removeValue(forKey: id) else { return (.wait, actions) }
        return (.granted(grant), actions)
    }

    /// Withdraws a waiting request.
    ///
    /// Returns false if it was granted something meanwhile; the caller then has to give that back.
    mutating func giveUp(_ id: RequestID) -> Bool {
        guard let index = waiting.firstIndex(where: { $0.id == id }) else { return false }
        waiting.remove(at: index)
        return true
    }

    /// Records that a connection was opened.
    ///
    /// `jitter` is from 0 to 1 and spreads the expiry of connections opened together.
    mutating func connected(_ id: ConnectionID, now: Instant, jitter: Double) -> Actions {
        failures = 0
        noAttemptBefore = nil
        guard !isClosed else {
            members[id] = nil
            return Actions(close: [id])
        }
        let age = configuration.maximumAge * (1 - 0.1 * jitter)
        members[id] = Member(state: .idle, expires: now.advanced(by: age))
        guard let first = waiting.popFirst() else {
            idle.append(id)
            return serve(now: now)
        }
        members[id]?.state = .leased
        // Other requests may have waited for the server to answer again.
        var actions = serve(now: now)
        actions.grants[first.id] = .new(id)
        return actions
    }

    /// Records that a connection could not be opened.
    ///
    /// `mayRetry` is false if a retry cannot help (a wrong password), or is left to the caller; then there is no
    /// back-off, and one request fails for each attempt. `jitter` is from 0 to 1: the wait is between half and all of
    /// the back-off.
    mutating func connectingFailed(_ id: ConnectionID, mayRetry: Bool, now: Instant, jitter: Double) -> Actions {
        members[id] = nil
        var failed: Waiting?
        if mayRetry {
            failures += 1
            var backoff = configuration.initialBackoff
            for _ in 1..<min(failures, 16) where backoff < configuration.maximumBackoff { backoff *= 2 }
            backoff = min(backoff, configuration.maximumBackoff)
            noAttemptBefore = now.advanced(by: backoff * (0.5 + 0.5 * jitter))
        } else {
            failed = waiting.popFirst()
        }
        var actions = serve(now: now)
        if let failed { actions.grants[failed.id] = .failed }
        return actions
    }

    /// Takes back a leased connection.
    mutating func release(_ id: ConnectionID, isUsable: Bool, now: Instant) -> Actions {
        guard let member = members[id] else { return Actions() }
        guard isUsable, !isClosed, now < member.expires else {
            members[id] = nil
            var actions = serve(now: now)
            actions.close.append(id)
            return actions
        }
        members[id]?.state = .idle
        idle.append(id)
        return serve(now: now)
    }

    /// Records that the server ended a connection: an idle one is closed, a leased one when it comes back.
    mutating func lost(_ id: ConnectionID) -> Actions {
        guard members[id]?.state == .idle else { return Actions() }
        members[id] = nil
        idle.removeAll { $0 == id }
        return Actions(close: [id])
    }

    /// Handles the passing of time.
    mutating func tick(now: Instant) -> Actions {
        serve(now: now)
    }

    /// Closes the pool: idle connections close now, leased ones when they come back, and requests get nothing.
    mutating func close() -> Actions {
        isClosed = true
        var actions = Actions()
        for request in waiting { actions.grants[request.id] = .closed }
        waiting = []
        actions.close = idle
        for id in idle { members[id] = nil }
        idle = []
        return actions
    }

    /// Grants the available connections in the order of the queue, and opens connections for the requests that still
    /// wait.
    private mutating func serve(now: Instant) -> Actions {
        var actions = Actions()
        guard !isClosed else { return actions }
        actions.close = removeOld(now: now)
        while !waiting.isEmpty, let id = idle.popLast() {
            members[id]?.state = .leased
            actions.grants[waiting.removeFirst().id] = .lease(id)
        }
        // Any waiting request may get the connection, so opening it may take as long as the most patient of them waits.
        guard let latest = waiting.map(\.deadline).max() else { return actions }
        var connecting = members.values.count { $0.state == .connecting }
        while connecting < waiting.count, members.count < configuration.maximum {
            if let noAttemptBefore, now < noAttemptBefore {
                actions.tickAt = noAttemptBefore
                break
            }
            // While the server is failing, one attempt at a time finds out whether it is back.
            if failures > 0, connecting > 0 { break }
            serial += 1
            let id = ConnectionID(number: serial)
            members[id] = Member(state: .connecting, expires: now)
            actions.connect[id] = latest
            connecting += 1
        }
        return actions
    }

    /// Removes the idle connections that have expired, at any position: those below the most recently used ones are
    /// never leased.
    private mutating func removeOld(now: Instant) -> [ConnectionID] {
        let old = idle.filter { id in members[id].map { $0.expires <= now } ?? true }
        guard !old.isEmpty else { return [] }
        idle.removeAll(where: old.contains)
        for id in old { members[id] = nil }
        return old
    }
}
