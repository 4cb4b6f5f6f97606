import EventThread
import LibPQ
import Logging

extension Connection {
    /// Makes the connection and finds out what lies in between, unless `knownRoute` tells.
    ///
    /// All of it ends at `deadline`, questions to the server included.
    ///
    /// - Throws: ``PostgresError``; `CancellationError` when the task is cancelled meanwhile.
    func open(knownRoute: Route? = nil, until deadline: ContinuousClock.Instant? = nil) async throws -> Route {
        try await lease { connection in
            connection.openingEnds = deadline
            defer { connection.openingEnds = nil }
            do {
                try await connection.establish(knownRoute)
            } catch {
                // Here, on its thread, which may watch the socket by now.
                connection.close()
                guard let late = error as? PostgresError, late.code == .abandoned || late.code == .deadlineExceeded
                else { throw error }
                throw PostgresError(
                    .connectionFailed,
                    reason: "the server took the connection and did not answer in time",
                    connectionUsable: false
                )
            }
            return connection.route
        }
    }

    private func establish(_ knownRoute: Route?) async throws {
        try connect()
        if knownRoute == nil, configuration.pooler == .detect, !isSharedPooler, try applySettingsUnlessPooled() {
            route = .direct
            return
        }
        if let route = knownRoute ?? routeByName() {
            self.route = route
        } else {
            route = try await probeRoute()
            // Behind a pooler whose server processes are all taken nobody answers the question, which ends the
            // connection.
            if !isUsable {
                state = ProtocolState()
                lastWord = nil
                try connect()
            }
        }
        try applySettings()
    }

    /// Has an idle connection notice notifications and the server's end.
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
            // What was read is taken apart only when libpq is asked for a result.
            if !handle.isBusy { _ = handle.nextResult() }
            deliverNotifications()
        }
        if hasEnded(handle) { lose() }
    }

    /// Looks, without waiting, whether the server has ended the connection since it was last used.
    func isAlive() -> Bool {
        if state.phase == .idle { readWhileIdle() }
        return isUsable
    }

    /// Whether the server has ended the session: the end of what it sends may come later than its word of it.
    func hasEnded(_ handle: ConnectionHandle) -> Bool { handle.isBroken || lastWord != nil }

    /// Hands over the notifications that have arrived.
    func deliverNotifications() {
        while let notification = handle?.nextNotification() {
            notificationHandler?(Notification(channel: notification.channel, payload: notification.payload))
        }
    }

    /// Has `handler` called, on this connection's thread, when the connection is lost.
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
