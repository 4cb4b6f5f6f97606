import EventThread
import LibPQ
import Logging

extension Connection {
    /// Makes the connection.
    ///
    /// - Throws: ``PostgresError``; `CancellationError` when the task is cancelled meanwhile.
    ///
    /// Returns what lies in between, which is found out unless `knownRoute` tells.
    func open(knownRoute: Route? = nil) async throws -> Route {
        try await lease { connection in
            try connection.connect()
            if let route = try knownRoute ?? connection.routeAtFirstSight() {
                connection.route = route
            } else {
                connection.route = await connection.probeRoute()
                // Behind a pooler whose server processes are all taken nobody answers the question, which ends the connection.
                if !connection.isUsable {
                    connection.state = ProtocolState()
                    try connection.connect()
                }
            }
            try connection.applySettings()
            return connection.route
        }
    }

    private func connect() throws {
        let deadline = ContinuousClock.now.advanced(by: configuration.connectTimeout)
        var parameters = try startParameters()
        var handle = try start(parameters)
        if raiseTLS(handle) {
            // Nothing but a TCP handshake has happened yet: no password, not even a user name.
            parameters.append(("sslmode", "require"))
            handle = try start(parameters)
        }
        try waitUntilConnected(handle, deadline)
        guard handle.setNonBlocking() else { throw failure(handle) }
        self.handle = handle
        state.end()
        watchWhileIdle()
        logger.debug(
            "connected",
            metadata: [
                "host": "\(handle.host)", "server.version": "\(handle.serverVersion)",
                "tls": "\(handle.usesTLS ? handle.tlsAttribute("protocol") ?? "yes" : "no")",
            ]
        )
    }

    /// What libpq is given: fall-backs first, which the connection string overrides, then what overrides it.
    private func startParameters() throws(PostgresError) -> [(keyword: String, value: String)] {
        var given: Set<String> = []
        var parameters: [(keyword: String, value: String)] = []
        if let conninfo = configuration.conninfo, !conninfo.isEmpty {
            if Conninfo.isConnectionString(conninfo) {
                do throws(ConninfoError) {
                    given = Set(try Conninfo(conninfo).parameters.map(\.keyword))
                } catch {
                    throw PostgresError(
                        .configuration,
                        reason: "the connection string is malformed",
                        confidentialReason: error.message,
                        connectionUsable: false
                    )
                }
            }
            parameters.append(("dbname", conninfo))
        }
        // A peer that vanishes without a word is noticed within a minute, also by a listener that sends nothing.
        let fallbacks = [
            ("keepalives_idle", "30"), ("keepalives_interval", "10"), ("keepalives_count", "3"),
            ("tcp_user_timeout", "60000"),
        ]
        for (keyword, value) in fallbacks where !given.contains(keyword) { parameters.append((keyword, value)) }
        parameters.append(("fallback_application_name", configuration.applicationName))
        parameters.append(("client_encoding", "UTF8"))
        if let password = configuration.password { parameters.append(("password", password)) }
        return parameters
    }

    private func start(_ parameters: [(keyword: String, value: String)]) throws(PostgresError) -> ConnectionHandle {
        let logger = logger
        let handle: ConnectionHandle
        do throws(OutOfMemory) {
            handle = try ConnectionHandle(parameters: parameters) { fields in
                let notice = Diagnostics(fields)
                // Debug, since a notice may quote anything.
                logger.debug(
                    "notice from the server",
                    metadata: [
                        "severity": "\(notice.severity ?? "")", "sqlstate": "\(notice.sqlState ?? "")",
                        "message": "\(notice.message ?? "")",
                    ]
                )
            }
        } catch {
            throw PostgresError(.resources, reason: "out of memory", connectionUsable: false)
        }
        if handle.isBroken { throw failure(handle) }
        return handle
    }

    /// Whether the connection would go to another machine without insisting on TLS.
    private func raiseTLS(_ handle: ConnectionHandle) -> Bool {
        if configuration.allowsPlaintext { return false }
        return TLSRule.allowsPlaintextToOthers(handle.parametersInForce())
    }

    private func waitUntilConnected(_ handle: ConnectionHandle, _ deadline: ContinuousClock.Instant) throws {
        var events = IOEvents.write
        while true {
            switch thread.wait(for: Interest(handle.socket, events), until: deadline) {
            case .deadline:
                throw PostgresError(
                    .connectionFailed,
                    reason: "no connection within \(configuration.connectTimeout)",
                    connectionUsable: false
                )
            case .woken:
                try Task.checkCancellation()
                continue
            case .ready: break
            }
            switch handle.pollConnecting() {
            case .connected: return
            case .failed: throw failure(handle)
            case .waitForReading: events = .read
            case .waitForWriting: events = .write
            }
        }
    }

    /// libpq's own words name hosts, ports, users and databases, and never a password.
    private func failure(_ handle: ConnectionHandle) -> PostgresError {
        let message = handle.errorMessage
        let reason = message.split(separator: "\n").filter { !$0.hasPrefix("LOCATION:") }.joined(separator: "; ")
        var diagnostics: Diagnostics?
        if let state = handle.refusalSQLState {
            diagnostics = Diagnostics([.sqlState: state, .message: message])
        }
        let lacksTLS = diagnostics == nil && message.contains("server does not support SSL")
        let isConfiguration = diagnostics == nil && handle.socket < 0 && message.hasPrefix("invalid ")
        return PostgresError(
            lacksTLS ? .tlsRequired : isConfiguration ? .configuration : .connectionFailed,
            diagnostics: diagnostics,
            reason: reason,
            connectionUsable: false
        )
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
            // A FATAL message read here shows in the status only when libpq is asked for a result.
            if !handle.isBusy { _ = handle.nextResult() }
            deliverNotifications()
        }
        if handle.isBroken { lose() }
    }

    /// Looks, without waiting, whether the server has ended the connection since it was last used.
    func isAlive() -> Bool {
        if state.phase == .idle { readWhileIdle() }
        return isUsable
    }

    /// Hands over the notifications that have arrived.
    func deliverNotifications() {
        while let notification = handle?.nextNotification() {
            notificationHandler?(Notification(channel: notification.channel, payload: notification.payload))
        }
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
