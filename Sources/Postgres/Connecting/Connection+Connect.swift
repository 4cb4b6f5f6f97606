import EventThread
import LibPQ
import Logging

extension Connection {
    /// Connects to the first host that takes the connection.
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

    /// Connects to a host, each of whose addresses has a time of its own.
    ///
    /// libpq goes on to the next address when one refuses, and never when it is silent. They are asked for only then:
    /// in most connections nobody has to. `parameters` are those that the connection was started with; nil where no
    /// other address can be named.
    private func connectToHost(
        _ handle: ConnectionHandle,
        from start: ContinuousClock.Instant,
        _ share: Duration,
        by parameters: ConnectionKeywords?
    ) throws -> ConnectionHandle {
        var events = IOEvents.write
        // A socket folder has no address.
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

    /// Connects to the first of these addresses that takes the connection; each has an equal share of the time.
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

    /// Whether the next host is tried: as with libpq, not after a server has refused us for good.
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

    /// Goes on connecting; false when the time is over, and it may go on then.
    private func waitUntilConnected(
        _ handle: ConnectionHandle,
        _ events: inout IOEvents,
        until deadline: ContinuousClock.Instant
    ) throws -> Bool {
        while true {
            // Before every wait: a cancellation that comes together with the socket's readiness shows in no outcome of
            // the last one.
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
        }
    }

    /// How libpq's messages about a wrong connection string or service file begin: no server was asked then.
    private static let mistakes = [
        "invalid ", "could not match ", "definition of service ", "service file ", "syntax error in service file ",
    ]

    /// libpq's own words name hosts, ports, users and databases.
    ///
    /// Not a password: ``Conninfo`` refuses a string in which a part of one would be taken for any of them.
    private func failure(_ handle: ConnectionHandle) -> PostgresError {
        let message = handle.errorMessage
        // libpq sets advice off by a tab.
        let lines = message.split(separator: "\n").filter { !$0.hasPrefix("LOCATION:") }
            .map { $0.drop { $0 == "\t" || $0 == " " } }
        let reason = lines.joined(separator: "; ")
        var diagnostics: Diagnostics?
        if let state = handle.refusalSQLState {
            // As the server sent it: what follows the state in libpq's line, without the host before it.
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
