import CCares
import EventThread

/// Sends queries and returns the bytes of their replies; the only owner of a c-ares channel.
///
/// The channel is not thread-safe, so the actor runs on one thread, which waits for the channel's sockets while idle.
/// Callbacks come from inside `ares_*` calls. They only record what happened, and the exchange acts on it afterwards,
/// so no callback re-enters the channel.
actor CaresExchange {
    /// The outcome of one query.
    enum Ending: Sendable {
        /// A server answered; the bytes are not interpreted here.
        case reply([UInt8])
        /// No server answered in time.
        case noReply
        /// No server could be reached.
        case unreachable
    }

    private nonisolated let thread: EventThread
    private let configuration: ResolverConfiguration
    private let passesFailuresOver: Bool
    private var channel: ares_channel?
    private var active: [CaresQuery] = []
    private var waiting = CaresQueue()

    /// An exchange; with `passingFailuresOver`, a server that fails or refuses is skipped silently in favour of the
    /// next.
    init(_ configuration: ResolverConfiguration, passingFailuresOver: Bool = false, on thread: EventThread) {
        self.configuration = configuration
        self.passesFailuresOver = passingFailuresOver
        self.thread = thread
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        thread.asUnownedSerialExecutor()
    }

    // MARK: Life

    /// Sets the channel up and returns the number of its name servers; throws ``CaresError``.
    func open() throws -> Int {
        try CaresLibrary.initialize()
        var options = ares_options()
        // NOCHECKRESP passes SERVFAIL, NOTIMP and REFUSED to us. Without it, c-ares asks the next server, and reports
        // "unreachable" if all servers fail.
        let failures = passesFailuresOver ? 0 : ARES_FLAG_NOCHECKRESP
        options.flags = Int32(failures | ARES_FLAG_EDNS | ARES_FLAG_NOSEARCH)
        options.timeout = Int32(clamping: configuration.tryTimeout.milliseconds)
        options.tries = Int32(clamping: configuration.tries)
        options.ednspsz = Int32(DNSQuery.datagramSize)
        let mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_EDNSPSZ
        var channel: ares_channel?
        let status = ares_init_options(&channel, &options, Int32(mask))
        guard status == CaresStatus.success, let channel else {
            throw CaresError(action: "cannot set up DNS", status: status)
        }
        if !configuration.servers.isEmpty {
            let list = configuration.servers.map(\.description).joined(separator: ",")
            let status = ares_set_servers_ports_csv(channel, list)
            guard status == CaresStatus.success else {
                ares_destroy(channel)
                throw CaresError(action: "cannot use the name servers \(list)", status: status)
            }
        }
        self.channel = channel
        var servers: UnsafeMutablePointer<ares_addr_port_node>?
        guard ares_get_servers_ports(channel, &servers) == CaresStatus.success else { return 1 }
        defer { ares_free_data(servers) }
        return sequence(first: servers, next: { $0?.pointee.next }).prefix { $0 != nil }.reduce(0) { count, _ in
            count + 1
        }
    }

    /// Finishes all queries as unanswered and frees the channel.
    func close() {
        thread.watch(nil)
        if let channel { ares_destroy(channel) }
        channel = nil
        for query in active { query.finish(.noReply) }
        active = []
        waiting.finishAll()
    }

    // MARK: Queries

    /// Sends a query as soon as a slot is free, and waits for its outcome or the deadline.
    func send(_ query: DNSQuery, by deadline: ContinuousClock.Instant) async -> Ending {
        await withCheckedContinuation { continuation in
            // Checked only here, since the thread may run other work, such as ``close()``, before this closure.
            guard channel != nil else { return continuation.resume(returning: .unreachable) }
            waiting.append(CaresQuery(query, deadline: deadline, continuation))
            step()
        }
    }

    /// Sends as many queries as there are free slots, removes finished ones and updates the watch.
    private func step() {
        guard let channel else { return }
        let now = ContinuousClock.now
        // A query past its deadline is finished here, but its slot is free only when the channel releases it.
        for query in active where query.deadline <= now { query.finish(.noReply) }
        waiting.finishExpired(at: now)
        active.removeAll { $0.isReleased }
        while active.count < configuration.maximumInFlight, let next = waiting.popFirst() {
            start(next, channel)
            // A query that failed at once is already released.
            if next.isReleased { active.removeLast() }
        }
        watch(channel)
    }

    private func start(_ query: CaresQuery, _ channel: ares_channel) {
        var id = UInt16.random(in: .min ... .max)
        while active.contains(where: { $0.id == id }) { id &+= 1 }
        query.id = id
        active.append(query)
        let bytes = query.query.bytes(id: id)
        // Balanced by takeRetainedValue in the callback, which c-ares calls exactly once for each query.
        let context = Unmanaged.passRetained(query).toOpaque()
        ares_send(channel, bytes, Int32(bytes.count), caresQueryEnded, context)
    }

    private func watch(_ channel: ares_channel) {
        // No query can be queued while none is in flight.
        guard !active.isEmpty else {
            thread.watch(nil)
            return
        }
        var sockets = [ares_socket_t](repeating: -1, count: Int(ARES_GETSOCK_MAXNUM))
        let bits = UInt32(bitPattern: ares_getsock(channel, &sockets, Int32(sockets.count)))
        var interests: [Interest] = []
        for (index, socket) in sockets.enumerated() {
            var events: IOEvents = []
            if bits & (1 << UInt32(index)) != 0 { events.insert(.read) }
            if bits & (1 << UInt32(index + sockets.count)) != 0 { events.insert(.write) }
            if !events.isEmpty { interests.append(Interest(socket, events)) }
        }
        var deadline = active.lazy.filter { !$0.isFinished }.map(\.deadline).min()
        if let next = waiting.earliestDeadline { deadline = min(deadline ?? next, next) }
        var left = timeval()
        if ares_timeout(channel, nil, &left) != nil {
            let next = ContinuousClock.now.advanced(by: .seconds(left.tv_sec) + .microseconds(left.tv_usec))
            deadline = min(deadline ?? next, next)
        }
        // Weak, since the actor owns the thread, which owns the watch.
        let handler: @Sendable ([Interest]) -> Void = { [weak self] ready in
            self?.assumeIsolated { $0.process(ready) }
        }
        thread.watch(IdleWatch(interests, until: deadline, handler: handler))
    }

    private func process(_ ready: [Interest]) {
        guard let channel else { return }
        for interest in ready {
            // A socket failure counts as readable, so that the channel reads the error and moves on.
            let reads = !interest.events.isDisjoint(with: [.read, .failure])
            let writes = interest.events.contains(.write)
            ares_process_fd(channel, reads ? interest.descriptor : -1, writes ? interest.descriptor : -1)
        }
        // No socket is ready: let the channel handle time-outs and retries.
        if ready.isEmpty { ares_process_fd(channel, -1, -1) }
        step()
    }
}

extension Duration {
    fileprivate var milliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}
