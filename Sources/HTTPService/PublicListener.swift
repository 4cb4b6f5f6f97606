import HTTPTypes
import Hummingbird
package import Logging
import ServiceLifecycle

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The listener for Apple's notifications, and for nothing else.
///
/// | route | answers |
/// | --- | --- |
/// | POST /apple/notifications | the handler's outcome: 200 only after the notification was stored |
/// | GET /healthz | 204, for load balancers that must probe the public port |
///
/// HEAD is answered like GET: monitors probe with either.
///
/// As a service: graceful shutdown finishes the requests in flight and then closes; cancellation closes at once.
package struct PublicListener: Service {
    /// The outcome of a notification.
    package enum Outcome: Sendable, Equatable {
        /// Stored, or already known: Apple need not send it again.
        case accepted
        /// Not from Apple, or not for us: sending it again would change nothing.
        case refused
        /// Could not be stored now: Apple should send it again.
        case later
    }

    /// The maximum size of a body; larger ones are refused unread, and Apple's are about a kilobyte.
    package static let maximumBody = 64 << 10

    private let address: ListenerAddress
    private let limits: ListenerLimits
    private let notification: @Sendable ([UInt8]) async throws -> Outcome
    private let started: @Sendable (Int) -> Void
    private let logger: Logger

    /// Creates a listener.
    ///
    /// - Parameters:
    ///   - address: the address to listen on; port 0 takes a free one.
    ///   - limits: the limits for clients.
    ///   - logger: logs requests that fail, without their bodies.
    ///   - notification: handles the body of a notification.
    ///   - started: called with the port once the listener accepts connections.
    package init(
        address: ListenerAddress,
        limits: ListenerLimits = ListenerLimits(),
        logger: Logger,
        notification: @escaping @Sendable ([UInt8]) async throws -> Outcome,
        started: @escaping @Sendable (Int) -> Void = { _ in }
    ) {
        self.address = address
        self.limits = limits
        self.logger = logger
        self.notification = notification
        self.started = started
    }

    package func run() async throws {
        let router = Router(options: .autoGenerateHeadEndpoints)
        router.get("healthz") { _, _ in Response(status: .noContent) }
        router.post("apple/notifications") { [notification, logger] request, _ in
            let body: ByteBuffer
            do {
                body = try await request.body.collect(upTo: Self.maximumBody)
            } catch {
                return Response(status: .contentTooLarge)
            }
            do {
                switch try await notification(Array(body.readableBytesView)) {
                case .accepted: return Response(status: .ok)
                case .refused: return Response(status: .badRequest)
                case .later: return Response(status: .serviceUnavailable)
                }
            } catch {
                logger.error("a notification could not be stored", metadata: ["reason": "\(error)"])
                return Response(status: .serviceUnavailable)
            }
        }
        try await HTTPListener(
            address: address,
            limits: limits,
            logger: logger,
            started: started
        ).run(router)
    }
}
