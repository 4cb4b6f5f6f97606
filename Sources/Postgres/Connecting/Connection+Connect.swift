import EventThread
import LibPQ
import Logging

extension Connection {
    /// Connects to the first host that accepts the connection.
    func connect() throws {
        let handle = try connectToFirstHost()
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

    private func connectToFirstHost() throws -> ConnectionHandle {
        let parameters = try StartParameters(configuration)
        var first: ConnectionHandle? = try start(parameters.list)
        let inForce = first?.parametersInForce() ?? [:]
        let additions = parameters.additions(to: inForce)
        let attempts = HostAttempts(inForce)
        // Only a TCP handshake may have happened so far: no password has been sent, not even a user name.
        if attempts.count > 1 || !additions.isEmpty { first = nil }

        let limit = attempts.limit(configuration.connectTimeout)
        let end = [ContinuousClock.now.advanced(by: limit), openingEnds].compactMap { $0 }.min() ?? .now
        var failures: [PostgresError] = []
        for (index, overrides) in attempts.list.enumerated() {
            // The remaining time is shared equally by the remaining attempts; the last one gets all of it.
            let now = ContinuousClock.now
            let share = max(.zero, end - now) / (attempts.count - index)
            do {
                let given = parameters.list + additions + overrides
                let handle = try first ?? start(given)
                let isOneName =
                    inForce["hostaddr"]?.isEmpty ?? true
                    && (attempts.count > 1 || inForce["host"]?.contains(",") != true)
                return try connectToHost(handle, from: now, share, by: isOneName ? given : nil)
            } catch let error as PostgresError where Self.anotherMayDo(error) {
                failures.append(error)
            }
        }
        throw PostgresError.connectionFailed(failures)
    }

    /// Connects to a host, with a time limit for each of its addresses.
    ///
    /// libpq moves on to the next address if one refuses, but never if it is silent. The addresses are looked up only
    /// then, because most connections do not need them. `parameters` are those that the connection was started with;
    /// nil if no other address can be specified.
    private func connectToHost(
        _ handle: ConnectionHandle,
        from start: ContinuousClock.Instant,
        _ share: Duration,
        by parameters: ConnectionKeywords?
    ) throws -> ConnectionHandle {
        var events = IOEvents.write
        // A socket directory has no address.
        if let parameters, !handle.address.isEmpty {
            if try waitUntilConnected(handle, &events, until: start.advanced(by: share / 2)) { return handle }
            let silent = handle.address
            let others = configuration.resolve(handle.host).filter { $0 != silent }
            if !others.isEmpty {
                let end = start.advanced(by: share)
                let silence = Self.silence(of: handle, for: share / 2)
                return try connectToFirstAddress(others, after: silence, until: end, by: parameters)
            }
        }
        guard try waitUntilConnected(handle, &events, until: start.advanced(by: share)) else {
            throw Self.silence(of: handle, for: share)
        }
        return handle
    }

    /// Connects to the first of these addresses that accepts the connection; each has an equal share of the time.
    private func connectToFirstAddress(
        _ addresses: [String],
        after silence: PostgresError,
        until end: ContinuousClock.Instant,
        by parameters: ConnectionKeywords
    ) throws -> ConnectionHandle {
        var failures = [silence]
        for (index, address) in addresses.enumerated() {
            let now = ContinuousClock.now
            let share = max(.zero, end - now) / (addresses.count - index)
            do {
                let handle = try start(parameters + [(keyword: "hostaddr", value: address)])
                var events = IOEvents.write
                if try waitUntilConnected(handle, &events, until: now.advanced(by: share)) { return handle }
                failures.append(Self.silence(of: handle, for: share))
            } catch let error as PostgresError where Self.anotherMayDo(error) {
                failures.append(error)
            }
        }
        throw PostgresError.connectionFailed(failures)
    }

    private static func silence(of handle: ConnectionHandle, for limit: Duration) -> PostgresError {
        let limit = Duration.milliseconds(Int((limit / .milliseconds(1)).rounded()))
        return PostgresError(
            .connectionFailed,
            reason: "no connection to \(handle.host) within \(limit)",
            connectionUsable: false
        )
    }

    /// Whether to try the next host: as with libpq, not after a server has definitely refused us.
    private static func anotherMayDo(_ error: PostgresError) -> Bool {
        error.code == .connectionFailed && !error.lacksPassword
            && (error.sqlState == nil || error.sqlState == .cannotConnectNow)
    }

    private func start(_ parameters: ConnectionKeywords) throws(PostgresError) -> ConnectionHandle {
        let handle: ConnectionHandle
        do throws(OutOfMemory) {
            handle = try ConnectionHandle(parameters: parameters) { [weak self] fields in
                self?.assumeIsolated { $0.took(Diagnostics(fields)) }
            }
        } catch {
            throw PostgresError(.resources, reason: "out of memory", connectionUsable: false)
        }
        if handle.isBroken { throw failure(handle) }
        return handle
    }

    /// Continues connecting; false when the time is over, after which it may be continued.
    private func waitUntilConnected(
        _ handle: ConnectionHandle,
        _ events: inout IOEvents,
        until deadline: ContinuousClock.Instant
    ) throws -> Bool {
        while true {
            // Checked before every wait: a cancellation that coincides with the socket's readiness does not show in the
            // result of the last wait.
            try Task.checkCancellation()
            let isReady = events == .read && handle.holdsInput
            switch isReady
                ? SoleReadiness.ready(.read) : thread.wait(for: Interest(handle.socket, events), until: deadline)
            {
            case .deadline: return false
            case .woken: continue
            case .ready: break
            }
            switch handle.pollConnecting() {
            case .connected: return true
            case .failed: throw failure(handle)
            case .waitForReading: events = .read
            case .waitForWriting: events = .write
            }
            // A wait for a socket that is always ready does not look at the time.
            guard ContinuousClock.now < deadline else { return false }
        }
    }

    /// The beginnings of libpq's messages about an invalid connection string or service file: no server was contacted
    /// then.
    private static let mistakes = [
        "invalid ", "could not match ", "definition of service ", "service file ", "syntax error in service file ",
    ]

    /// The error for a failed attempt, with libpq's message, which names hosts, ports, users and databases.
    ///
    /// It never has a password: ``Conninfo`` refuses a string in which part of one would be taken for one of these.
    private func failure(_ handle: ConnectionHandle) -> PostgresError {
        let message = handle.errorMessage
        // libpq indents hints with a tab.
        let lines = message.split(separator: "\n").filter { !$0.hasPrefix("LOCATION:") }
            .map { $0.drop { $0 == "\t" || $0 == " " } }
        let reason = lines.joined(separator: "; ")
        var diagnostics: Diagnostics?
        if let state = handle.refusalSQLState {
            // The message as the server sent it: the text after the state in libpq's line, without the host before it.
            let mark = "\(state): "
            let said = lines.compactMap { line in line.firstRange(of: mark).map { String(line[$0.upperBound...]) } }
            diagnostics = Diagnostics([.sqlState: state, .message: said.first ?? reason])
        }
        let lacksTLS = diagnostics == nil && message.contains("server does not support SSL")
        let isConfiguration =
            diagnostics == nil && handle.socket < 0
            && Self.mistakes.contains { message.hasPrefix($0) }
        return PostgresError(
            lacksTLS ? .tlsRequired : isConfiguration ? .configuration : .connectionFailed,
            diagnostics: diagnostics,
            reason: reason,
            lacksPassword: handle.needsPassword,
            connectionUsable: false
        )
    }
}

extension PostgresError {
    /// One error for all hosts that were tried, with the diagnostics of the last.
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
