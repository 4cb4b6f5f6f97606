import EventThread
import LibPQ
import Logging

extension Connection {
    /// Connects to the first host that takes the connection.
    func connect() throws {
        let handle = try reach()
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

    private func reach() throws -> ConnectionHandle {
        let parameters = try StartParameters(configuration)
        var first: ConnectionHandle? = try start(parameters.list)
        let inForce = first?.parametersInForce() ?? [:]
        let additions = parameters.additions(to: inForce)
        let attempts = HostAttempts(inForce)
        // Nothing but a TCP handshake has happened yet: no password, not even a user name.
        if attempts.count > 1 || !additions.isEmpty { first = nil }

        let limit = attempts.limit(configuration.connectTimeout)
        let end = [ContinuousClock.now.advanced(by: limit), openingEnds].compactMap { $0 }.min() ?? .now
        var failures: [PostgresError] = []
        for (index, overrides) in attempts.list.enumerated() {
            // What others did not use is shared by those that are left; the last one has all of it.
            let now = ContinuousClock.now
            let share = max(.zero, end - now) / (attempts.count - index)
            do {
                let handle = try first ?? start(parameters.list + additions + overrides)
                try waitUntilConnected(handle, for: share, from: now)
                return handle
            } catch let error as PostgresError where Self.anotherMayDo(error) {
                failures.append(error)
            }
        }
        throw PostgresError.connectionFailed(failures)
    }

    /// Whether the next host is tried: as with libpq, not after a server has refused us for good.
    private static func anotherMayDo(_ error: PostgresError) -> Bool {
        error.code == .connectionFailed && (error.sqlState == nil || error.sqlState == .cannotConnectNow)
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

    private func waitUntilConnected(
        _ handle: ConnectionHandle,
        for limit: Duration,
        from start: ContinuousClock.Instant
    ) throws {
        let deadline = start.advanced(by: limit)
        var events = IOEvents.write
        while true {
            // Before every wait: a cancellation that comes together with the socket's readiness shows in no outcome of the last one.
            try Task.checkCancellation()
            let isReady = events == .read && handle.holdsInput
            switch isReady
                ? SoleReadiness.ready(.read) : thread.wait(for: Interest(handle.socket, events), until: deadline)
            {
            case .deadline:
                let limit = Duration.milliseconds(Int((limit / .milliseconds(1)).rounded()))
                throw PostgresError(
                    .connectionFailed,
                    reason: "no connection to \(handle.host) within \(limit)",
                    connectionUsable: false
                )
            case .woken: continue
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

    /// libpq's own words name hosts, ports, users and databases.
    ///
    /// Not a password: ``Conninfo`` refuses a string in which a part of one would be taken for any of them.
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
}

extension PostgresError {
    /// What became of all hosts that were tried, told as the last one's failure.
    fileprivate static func connectionFailed(_ failures: [PostgresError]) -> PostgresError {
        var reasons: [String] = []
        for case let reason? in failures.map(\.reason) where !reasons.contains(reason) { reasons.append(reason) }
        return PostgresError(
            .connectionFailed,
            diagnostics: failures.last?.diagnostics,
            reason: reasons.joined(separator: "; "),
            connectionUsable: false
        )
    }
}
