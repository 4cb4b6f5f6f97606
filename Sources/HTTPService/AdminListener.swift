import HTTPTypes
import Hummingbird
package import Logging
import ServiceLifecycle
package import Telemetry

/// The listener for operators: health, metrics and wake-up.
///
/// It must not be reachable from the public network.
///
/// | route | answers |
/// | --- | --- |
/// | GET /health/live | 200 as long as the process runs |
/// | GET /health/ready | 200 or 503, with each part's state |
/// | GET /metrics | Prometheus text |
/// | POST /wake | 202; makes workers look for work at once |
///
/// HEAD is answered like GET: monitors probe with either.
///
/// As a service: graceful shutdown finishes the requests in flight and then closes; cancellation closes at once.
package struct AdminListener: Service {
    private let address: ListenerAddress
    private let health: Health
    private let metrics: @Sendable () -> String
    private let wake: @Sendable () async -> Void
    private let started: @Sendable (Int) -> Void
    private let logger: Logger

    /// Creates a listener.
    ///
    /// - Parameters:
    ///   - address: the address to listen on; port 0 takes a free one.
    ///   - health: the source of the health routes.
    ///   - metrics: returns the text of the metrics.
    ///   - wake: called for each wake-up.
    ///   - logger: logs requests that fail.
    ///   - started: called with the port once the listener accepts connections.
    package init(
        address: ListenerAddress,
        health: Health,
        metrics: @escaping @Sendable () -> String,
        wake: @escaping @Sendable () async -> Void,
        logger: Logger,
        started: @escaping @Sendable (Int) -> Void = { _ in }
    ) {
        self.address = address
        self.health = health
        self.metrics = metrics
        self.wake = wake
        self.logger = logger
        self.started = started
    }

    package func run() async throws {
        let router = Router(options: .autoGenerateHeadEndpoints)
        router.get("health/live") { _, _ in Self.response(.ok, "{\"live\":true}\n", .json) }
        router.get("health/ready") { [health] _, _ in
            let report = await health.report()
            return Self.response(report.isReady ? .ok : .serviceUnavailable, report.json, .json)
        }
        router.get("metrics") { [metrics] _, _ in Self.response(.ok, metrics(), .metrics) }
        router.post("wake") { [wake] _, _ in
            await wake()
            return Self.response(.accepted, "{\"woken\":true}\n", .json)
        }
        try await HTTPListener(
            address: address,
            limits: ListenerLimits(),
            logger: logger,
            started: started
        ).run(router)
    }

    private enum Form: String {
        case json = "application/json"
        case metrics = "text/plain; version=0.0.4; charset=utf-8"
    }

    private static func response(_ status: HTTPResponse.Status, _ text: String, _ form: Form) -> Response {
        Response(
            status: status,
            headers: [.contentType: form.rawValue, .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text))
        )
    }
}
