import EventThread
import LibPQ
import Logging

extension Connection {
    /// Connects, and detects a pooler in between unless `knownRoute` names one.
    ///
    /// All of it ends at `deadline`, including the queries for detection.
    ///
    /// - Throws: ``PostgresError``; `CancellationError` if the task is cancelled meanwhile.
    func open(knownRoute: Route? = nil, until deadline: ContinuousClock.Instant? = nil) async throws -> Route {
        try await lease { connection in
            connection.openingEnds = deadline
            defer { connection.openingEnds = nil }
            do {
                try await connection.establish(knownRoute)
            } catch {
                // Closed here, on its thread, which may already watch the socket.
                connection.close()
                guard let late = error as? PostgresError, late.code == .abandoned || late.code == .deadlineExceeded
                else { throw error }
                throw PostgresError(
                    .connectionFailed,
                    reason: "the server accepted the connection but did not answer in time, as a pooler does whose "
                        + "connections are all in use",
                    connectionUsable: false
                )
            }
            return connection.route
        }
    }

    private func establish(_ knownRoute: Route?) async throws {
        try connect()
        let mayBeDirect = knownRoute == nil || knownRoute == .direct
        // Also if there was no pooler so far: one may have taken the server's place, and asking costs no round trip.
        if mayBeDirect, configuration.pooler == .detect, !isSharedPooler,
            try applySettingsUnlessPooled(deadline: knownRoute == nil ? Self.patience : nil)
        {
            route = .direct
            return
        }
        if let route = mayBeDirect ? routeByName() : knownRoute {
            self.route = route
        } else {
            route = try await probeRoute()
            // If all server processes of the pooler are in use, nobody answers the query, and the connection is lost.
            if !isUsable {
                state = ProtocolState()
                lastWord = nil
                try connect()
            }
        }
        try applySettings()
    }

    /// Makes an idle connection receive notifications and notice that the server ended it.
    func watchWhileIdle() {
        guard let socket = handle?.socket, socket >= 0 else { return thread.watch(nil) }
        thread.watch(
            IdleWatch([Interest(socket, .read)]) { [weak self] _ in
                self?.assumeIsolated { $0.readWhileIdle() }
            }
        )
    }

    private func readWhileIdle() {
        guard let handle, state.phase == .idle else { return thread.watch(nil) }
        if handle.consumeInput(), !handle.isBroken {
            takeHeldInput(handle)
            // libpq parses what was read only when it is asked for a result.
            if !handle.isBusy { _ = handle.nextResult() }
            deliverNotifications()
        }
        if hasEnded(handle) { lose() }
    }

    /// Checks, without waiting, whether the server has ended the connection since it was last used.
    func isAlive() -> Bool {
        if state.phase == .idle { readWhileIdle() }
        return isUsable
    }

    /// Whether the server has ended the session: its message to that effect may arrive before the end of the stream.
    func hasEnded(_ handle: ConnectionHandle) -> Bool { handle.isBroken || lastWord != nil }

    /// Delivers the notifications that have arrived.
    func deliverNotifications() {
        while let notification = handle?.nextNotification() {
            notificationHandler?(Notification(channel: notification.channel, payload: notification.payload))
        }
    }

    /// Registers a handler that is called, on this connection's thread, when the connection is lost.
    func whenLost(_ handler: @escaping @Sendable () -> Void) {
        lossHandler = handler
    }

    /// Records that the connection is gone.
    func lose() {
        guard state.phase != .lost else { return }
        thread.watch(nil)
        state.lose()
        logger.debug("connection lost")
        lossHandler?()
    }
}
