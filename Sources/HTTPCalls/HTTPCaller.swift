import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOSSL
import Sealing
import Synchronization
import Waiting

package import Logging

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Makes HTTP calls with deadlines, bounded retries and a concurrency limit per host; it does not follow redirects.
///
/// One caller serves all clients of the process. It exists only inside ``withCaller(configuration:logger:_:)``, which
/// closes its connections at the end.
package final class HTTPCaller: Sendable {
    /// The settings of a caller.
    package struct Configuration: Sendable {
        /// How long one connection attempt may take.
        var connectTimeout: Duration
        /// The maximum number of concurrent calls to one host; more calls wait in line.
        package var callsPerHost: Int
        /// The retry policy for calls that may be repeated.
        var retries: RetrySchedule.Policy

        /// Creates a configuration; every value has a default.
        package init(
            connectTimeout: Duration = .seconds(5),
            callsPerHost: Int = 8,
            retries: RetrySchedule.Policy = .init()
        ) {
            self.connectTimeout = connectTimeout
            self.callsPerHost = callsPerHost
            self.retries = retries
        }
    }

    /// The `User-Agent` of every call; Apple is reported to refuse calls without one.
    private static let userAgent = "accountctl"

    private let client: HTTPClient
    private let configuration: Configuration
    private let logger: Logger
    private let lines = Mutex<[String: Permits]>([:])

    private init(client: HTTPClient, configuration: Configuration, logger: Logger) {
        self.client = client
        self.configuration = configuration
        self.logger = logger
    }

    /// Runs `body` with a caller and closes its connections afterwards, even if `body` throws.
    ///
    /// - Parameters:
    ///   - configuration: The settings of the caller.
    ///   - logger: Records attempts at debug level, without paths, headers or bodies.
    ///   - body: The work that uses the caller.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    package static func withCaller<Result>(
        configuration: Configuration = .init(),
        logger: Logger,
        _ body: (HTTPCaller) async throws -> Result
    ) async throws -> Result {
        var transport = HTTPClient.Configuration()
        transport.redirectConfiguration = .disallow
        var protection = TLSConfiguration.makeClientConfiguration()
        // The library allows TLS 1.0 by default; these calls carry the most powerful credentials.
        protection.minimumTLSVersion = .tlsv12
        transport.tlsConfiguration = protection
        transport.timeout.connect = TimeAmount(configuration.connectTimeout)
        // Reconnecting is left to the retry schedule, which knows the deadline.
        transport.connectionPool.retryConnectionEstablishment = false
        // Shorter than servers keep idle connections open: a call sent into a connection that was just closed is
        // ambiguous.
        transport.connectionPool.idleTimeout = .seconds(10)
        transport.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = configuration.callsPerHost
        return try await HTTPClient.withHTTPClient(configuration: transport) { client in
            try await body(HTTPCaller(client: client, configuration: configuration, logger: logger))
        }
    }

    /// The maximum number of concurrent calls to one host.
    package var callsPerHost: Int { configuration.callsPerHost }

    /// Makes a call and waits for its outcome.
    ///
    /// Cancelling the task ends the call at once and closes its connection. The service may have acted nevertheless, so
    /// cancellation proves nothing.
    ///
    /// - Returns: The outcome; see ``HTTPOutcome``.
    /// - Throws: Only `CancellationError`, when the task is cancelled.
    package func perform(_ call: HTTPCall) async throws(CancellationError) -> HTTPOutcome {
        let started = ContinuousClock.now
        let deadline = started.advanced(by: call.deadline)
        var schedule = RetrySchedule(policy: configuration.retries, repetition: call.repetition)
        while true {
            let outcome = try await attempt(call, until: deadline)
            let remaining = deadline - ContinuousClock.now
            let action = schedule.next(after: outcome, remaining: remaining, jitter: .random(in: 0...1))
            logger.debug(
                "http call",
                metadata: ["call": "\(call)", "outcome": "\(CallMetrics.name(of: outcome))", "next": "\(action)"]
            )
            guard case .pause(let pause) = action else {
                CallMetrics.record(outcome, label: call.label, took: ContinuousClock.now - started)
                return outcome
            }
            CallMetrics.recordRepeat(label: call.label)
            do {
                try await Task.sleep(for: pause, clock: .continuous)
            } catch {
                throw CancellationError()
            }
        }
    }

    private func attempt(_ call: HTTPCall, until deadline: ContinuousClock.Instant) async throws(CancellationError)
        -> HTTPOutcome
    {
        let line = lines.withLock { lines in
            let key = call.address.hostAndPort
            if let line = lines[key] { return line }
            let line = Permits(total: configuration.callsPerHost)
            lines[key] = line
            return line
        }
        let outcome = try await line.with(until: deadline) { () async throws(CancellationError) in
            let timeout = min(call.attemptTimeout, deadline - ContinuousClock.now)
            guard timeout > .zero else { return HTTPOutcome.unreachable(.busy) }
            let outcome = await send(call, timeout: timeout)
            // The transport does not distinguish a cancelled task from other errors, so check the task itself.
            if Task.isCancelled { throw CancellationError() }
            return outcome
        }
        return outcome ?? .unreachable(.busy)
    }

    private func send(_ call: HTTPCall, timeout: Duration) async -> HTTPOutcome {
        var request = request(for: call)
        let body = call.body.flatMap { $0.reveal().isEmpty ? nil : RequestBody($0.reveal()) }
        if let body { request.body = .stream(body, length: .known(Int64(body.length))) }
        let outcome = await outcome(of: request, limit: call.maximumReplyBytes, timeout: timeout)
        // If the attempt timed out or was cut before the connection took the body, the service cannot have acted.
        switch outcome {
        case .timedOut where body?.withdraw() == true: return .unreachable(.connectTimedOut)
        case .interrupted where body?.withdraw() == true: return .unreachable(.cut)
        default: return outcome
        }
    }

    private func outcome(of request: HTTPClientRequest, limit: Int, timeout: Duration) async -> HTTPOutcome {
        do {
            // The transport's deadline covers only the head of the reply, so a slowly arriving body needs its own.
            return try await withThrowingTaskGroup(of: HTTPOutcome.self) { group in
                group.addTask { [client, logger] in
                    let response = try await client.execute(
                        request,
                        deadline: .now() + TimeAmount(timeout),
                        logger: logger
                    )
                    return try await Self.read(response, limit: limit)
                }
                group.addTask {
                    try await Task.sleep(for: timeout, clock: .continuous)
                    return .timedOut
                }
                defer { group.cancelAll() }
                return try await group.next() ?? .interrupted
            }
        } catch {
            return TransportFailure.outcome(of: error)
        }
    }

    private func request(for call: HTTPCall) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: call.address.url(path: call.path))
        request.method = HTTPMethod(rawValue: call.method.rawValue)
        request.headers.add(name: "User-Agent", value: Self.userAgent)
        for header in call.headers {
            request.headers.replaceOrAdd(name: header.name, value: header.value.reveal())
        }
        return request
    }

    private static func read(_ response: HTTPClientResponse, limit: Int) async throws -> HTTPOutcome {
        let status = Int(response.status.code)
        var body: [UInt8] = []
        for try await part in response.body {
            guard body.count + part.readableBytes <= limit else {
                return .replyTooLarge(status: status, limit: limit)
            }
            body.append(contentsOf: part.readableBytesView)
        }
        let retryAfter = response.headers.first(name: "Retry-After").flatMap { RetryAfter.parse($0, now: Date()) }
        return .reply(
            HTTPReply(
                status: status,
                retryAfter: retryAfter,
                contentRange: response.headers.first(name: "Content-Range"),
                entityTag: response.headers.first(name: "ETag"),
                date: response.headers.first(name: "Date").flatMap { HTTPDate.parse($0) },
                body: body
            )
        )
    }
}
