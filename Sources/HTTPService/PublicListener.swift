import HTTPTypes
import Hummingbird
package import Logging
import ServiceLifecycle

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The listener that Apple's notifications come to; serves nothing else.
///
/// | route | answers |
/// | --- | --- |
/// | POST /apple/notifications | what the handler says: 200 only after the notification was stored |
/// | GET /healthz | 204, for load balancers that must probe the public port |
///
/// As a service: graceful shutdown answers what is under way and closes; cancellation closes at once.
package struct PublicListener: Service {
    /// What became of a notification.
    package enum Outcome: Sendable, Equatable {
        /// Stored, or known already: Apple need not send it again.
        case accepted
        /// Not one of Apple's, or not for us: sending it again would change nothing.
        case refused
        /// Could not be stored now: Apple should send it again.
        case later
    }

    /// A body that is larger is refused unread: Apple's are about a kilobyte.
    package static let maximumBody = 64 << 10

    private let address: ListenerAddress
    private let limits: ListenerLimits
    private let notification: @Sendable ([UInt8]) async throws -> Outcome
    private let started: @Sendable (Int) -> Void
    private let logger: Logger

    /// Makes a listener.
    ///
    /// - Parameters:
    ///   - address: where to listen; port 0 takes a free one.
    ///   - limits: what a client may take.
    ///   - logger: where requests that fail are told, without their bodies.
    ///   - notification: takes the body of a notification.
    ///   - started: is told the port once it listens.
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
        let router = Router()
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
