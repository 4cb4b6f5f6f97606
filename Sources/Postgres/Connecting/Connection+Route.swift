import LibPQ
import Logging

/// Detection of a pooler between this program and the server, once a connection is made.
extension Connection {
    /// The route according to the configuration, or to the host and port; nil for a pooler of unknown kind.
    func routeByName() -> Route? {
        switch configuration.pooler {
        case .none: return .direct
        case .transaction: return .transactionPooler
        case .detect: break
        }
        // Supabase's transaction poolers, shared and dedicated, use port 6543, its shared session pooler port 5432.
        // Source: supabase.com/docs/guides/database/connecting-to-postgres
        switch handle?.port {
        case "6543": return .transactionPooler
        case "5432" where isSharedPooler: return .sessionPooler
        default: return nil
        }
    }

    /// Whether this is Supavisor, Supabase's shared pooler, judging by its host.
    ///
    /// Then there is no need to ask whether the other end is a server. In transaction mode it may also refuse the
    /// question, because that would make session settings.
    var isSharedPooler: Bool { handle?.host.hasSuffix(".pooler.supabase.com") == true }

    /// How many probes must agree before a notification is tried: that of a transaction pooler is waited for in vain.
    private static let probes = 4

    /// Distinguishes a transaction pooler from a session pooler with a second connection.
    ///
    /// With a session pooler, this connection keeps its server process, and the other one never gets it. A transaction
    /// pooler has given the process back by the time the other connection asks, and soon gives this one another. The
    /// probe is repeated, because a third client may interfere. What then looks like a session must also hear a
    /// notification, which a transaction pooler throws away.
    ///
    /// Neither connection opens a transaction: holding one process while waiting for another, clients that start at
    /// once would wait for each other when the pooler has no more.
    ///
    /// - Returns: `unknownPooler` if the second connection fails, which says nothing about the first.
    /// - Throws: `CancellationError`.
    func probeRoute() async throws -> Route {
        var configuration = configuration
        configuration.pooler = .transaction
        configuration.takesAnyForm = true
        let ends = openingEnds
        do {
            return try await Connection.with(configuration, logger: logger, openUntil: ends) { [self] other in
                other.openingEnds = ends
                guard let mine = try await self.answeringProcess() else { return .transactionPooler }
                for _ in 0..<Self.probes {
                    guard try other.serverProcess() != mine else { return .transactionPooler }
                    // Asked twice, since a pooler that takes turns could return to the same process every second time.
                    for _ in 0..<2 {
                        // A session that was answered before is answered again.
                        guard try await self.answeringProcess() == mine else { return .transactionPooler }
                    }
                }
                let isSession = try await Self.reaches(self, from: other, on: "accountctl_\(mine)")
                return isSession ? .sessionPooler : .transactionPooler
            }
        } catch let error as PostgresError {
            logger.info("could not find out what kind of pooler is in between", metadata: ["reason": "\(error)"])
            return .unknownPooler
        }
    }

    /// Whether a notification from the other connection reaches this one while it is idle, as only a session's does.
    ///
    /// The process ids alone do not show it: of several poolers behind one address, the two connections may use
    /// different ones, of which neither has the other's server processes.
    private static func reaches(
        _ listener: Connection,
        from other: isolated Connection,
        on channel: String
    ) async throws -> Bool {
        var hearing = try await hear(listener, from: other, on: channel, within: .milliseconds(500), thenAsks: true)
        if hearing == .withAnAnswer {
            // From a transaction pooler, too, if its server process was slow to send it: it comes once more, unasked.
            hearing = try await hear(listener, from: other, on: channel, within: Self.patience, thenAsks: false)
        }
        try Task.checkCancellation()
        try await listener.stopListening(on: channel)
        return hearing == .unasked
    }

    /// Whether a notification is heard.
    private enum Hearing {
        /// While the connection was idle.
        case unasked
        /// With the answer to a query.
        case withAnAnswer
        case never
    }

    /// Notifies from the other connection, and tells whether this one hears it within a time.
    ///
    /// A session that is then asked something sends the notification first, so a late one is not missed.
    private static func hear(
        _ listener: Connection,
        from other: isolated Connection,
        on channel: String,
        within pause: Duration,
        thenAsks: Bool
    ) async throws -> Hearing {
        let (events, told) = AsyncStream.makeStream(of: Hearing.self)
        try await listener.listen(on: channel) { told.yield(.unasked) }
        try other.execute("notify \(identifier: channel)", deadline: Self.patience)
        return await withTaskGroup(of: Void.self) { group in
            group.addTask {
                defer { told.finish() }
                guard (try? await Task.sleep(for: pause)) != nil, thenAsks else { return }
                // What is heard from here on may have come with the answer.
                told.yield(.withAnAnswer)
                _ = try? await listener.answeringProcess()
            }
            defer { group.cancelAll() }
            var hearing = Hearing.unasked
            for await event in events {
                guard event == .withAnAnswer else { return hearing }
                hearing = event
            }
            return .never
        }
    }

    private func listen(on channel: String, _ hear: @escaping @Sendable () -> Void) throws {
        notificationHandler = { notification in
            if notification.channel == channel { hear() }
        }
        try execute("listen \(identifier: channel)", deadline: Self.patience)
    }

    private func stopListening(on channel: String) throws {
        notificationHandler = nil
        try execute("unlisten \(identifier: channel)", deadline: Self.patience)
    }

    /// How long to wait for the pooler's answer to a query.
    static let patience = Duration.seconds(3)

    private func serverProcess() throws -> Int {
        // Otherwise a call might first raise the server's limit, in a transaction.
        serverLimit = Self.patience
        defer { serverLimit = nil }
        return try one("select pg_backend_pid()", as: Int.self, deadline: Self.patience)
    }

    /// The server process that answers; nil if none does in time.
    private func answeringProcess() throws -> Int? {
        do {
            return try serverProcess()
        } catch is PostgresError where operation.interruption == .deadline {
            return nil
        }
    }
}
