import DequeModule

/// Decides which request gets which connection and when to make one; ``PoolDriver`` carries it out.
///
/// Pure: time comes in as an argument, connections are numbers, every input returns what is to be done. The rules:
/// first come, first served, by whichever connection is ready first, a new one or one that comes back; for each request
/// that waits a connection is made while there are fewer than the maximum; after a failed attempt none is made before
/// the back-off is over, then one at a time; a connection that is too old is replaced, not leased, and closed at the
/// next input where nobody needs it.
struct PoolStateMachine: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Names a request for a connection.
    struct RequestID: Hashable, Sendable {
        let number: Int
    }

    /// Names a connection, and the place it takes while it is being made.
    struct ConnectionID: Hashable, Sendable {
        let number: Int
    }

    struct Configuration: Sendable {
        var maximum: Int
        var maximumAge: Duration
        var initialBackoff: Duration
        var maximumBackoff: Duration
    }

    /// What a request gets.
    enum Grant: Sendable, Equatable {
        /// This connection, which has been in use.
        case lease(ConnectionID)
        /// This connection, which has just been made.
        case new(ConnectionID)
        /// Nothing: a connection cannot be made, and trying again would not help.
        case failed
        /// Nothing any more: the pool is closed.
        case closed
    }

    /// The answer to a new request.
    enum Answer: Sendable, Equatable {
        case granted(Grant)
        /// It has to wait for a grant.
        case wait
    }

    /// What is to be done after an input.
    struct Actions: Sendable, Equatable {
        /// Waiting requests that now get something.
        var grants: [RequestID: Grant] = [:]
        /// Connections to make, each until when at the latest.
        var connect: [ConnectionID: Instant] = [:]
        /// Connections to close.
        var close: [ConnectionID] = []
        /// When ``tick(now:)`` has something to do.
        var tickAt: Instant?
    }

    private enum ConnectionState {
        /// Being made. Next: leased, idle, or gone.
        case connecting
        /// Lying ready. Next: leased, or gone.
        case idle
        /// Given to a request. Next: idle, or gone.
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
    /// The most recently used last: it is leased first, so that what a quiet pool does not need grows old.
    private var idle: [ConnectionID] = []
    private var waiting: Deque<Waiting> = []
    private var failures = 0
    private var noAttemptBefore: Instant?
    private var isClosed = false
    private var serial = 0

    init(configuration: Configuration) {
        self.configuration = configuration
    }

    /// How many connections lie ready, are leased or being made, and how many requests wait.
    var counts: (idle: Int, inUse: Int, waiting: Int) { (idle.count, members.count - idle.count, waiting.count) }

    /// A request arrives, and waits until `deadline` at the latest.
    mutating func request(_ id: RequestID, until deadline: Instant, now: Instant) -> (answer: Answer, actions: Actions)
    {
        if isClosed { return (.granted(.closed), Actions()) }
        waiting.append(Waiting(id: id, deadline: deadline))
        return answer(to: id, now: now)
    }

    /// A request puts itself back in front of the queue, since the connection that it got was dead.
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

    /// A waiting request gives up.
    ///
    /// Too late for one that was granted something meanwhile: that is false, and the caller has to give back what it
    /// got.
    mutating func giveUp(_ id: RequestID) -> Bool {
        guard let index = waiting.firstIndex(where: { $0.id == id }) else { return false }
        waiting.remove(at: index)
        return true
    }

    /// A connection was made.
    ///
    /// `jitter` is from 0 to 1 and spreads the ends of connections made together.
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
        // Others may have waited for the server to answer again.
        var actions = serve(now: now)
        actions.grants[first.id] = .new(id)
        return actions
    }

    /// A connection could not be made.
    ///
    /// `mayRetry` is false when trying again cannot help (a wrong password), or is left to others; then there is no
    /// back-off, and a request fails for each attempt. `jitter` is from 0 to 1: between half and all of the back-off is waited.
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

    /// A leased connection comes back.
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

    /// The server has ended a connection: one that lies ready is closed, a leased one when it comes back.
    mutating func lost(_ id: ConnectionID) -> Actions {
        guard members[id]?.state == .idle else { return Actions() }
        members[id] = nil
        idle.removeAll { $0 == id }
        return Actions(close: [id])
    }

    /// Time has passed.
    mutating func tick(now: Instant) -> Actions {
        serve(now: now)
    }

    /// The pool ends: idle connections close now, leased ones when they come back, requests get nothing.
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

    /// Grants as much as there is, in the order of the queue, and has connections made for those who still wait.
    private mutating func serve(now: Instant) -> Actions {
        var actions = Actions()
        guard !isClosed else { return actions }
        actions.close = removeOld(now: now)
        while !waiting.isEmpty, let id = idle.popLast() {
            members[id]?.state = .leased
            actions.grants[waiting.removeFirst().id] = .lease(id)
        }
        // Any request that waits may get it, so it may take as long as the most patient of them waits.
        guard let latest = waiting.map(\.deadline).max() else { return actions }
        var connecting = members.values.count { $0.state == .connecting }
        while connecting < waiting.count, members.count < configuration.maximum {
            if let noAttemptBefore, now < noAttemptBefore {
                actions.tickAt = noAttemptBefore
                break
            }
            // While the server is failing one attempt at a time finds out whether it is back.
            if failures > 0, connecting > 0 { break }
            serial += 1
            let id = ConnectionID(number: serial)
            members[id] = Member(state: .connecting, expires: now)
            actions.connect[id] = latest
            connecting += 1
        }
        return actions
    }

    /// Takes out of the idle connections those whose time is over, wherever they lie: what is below the ones in use is
    /// never leased.
    private mutating func removeOld(now: Instant) -> [ConnectionID] {
        let old = idle.filter { id in members[id].map { $0.expires <= now } ?? true }
        guard !old.isEmpty else { return [] }
        idle.removeAll(where: old.contains)
        for id in old { members[id] = nil }
        return old
    }
}
