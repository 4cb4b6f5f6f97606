import Hummingbird
import Logging
import NIOCore

/// The common part of both listeners: limits on the number of clients and on the time they may take.
struct HTTPListener {
    let address: ListenerAddress
    let limits: ListenerLimits
    let logger: Logger
    let started: @Sendable (Int) -> Void

    /// Serves until the service is shut down or cancelled.
    ///
    /// - Throws: ``ListenerRefusal`` if the address cannot be bound.
    func run<Context: RequestContext>(_ router: Router<Context>) async throws
    where Context.Source == ApplicationRequestContextSource {
        let (started, limits) = (started, limits)
        let application = Application(
            router: router,
            server: .http1(
                configuration: .init(
                    additionalChannelHandlers: [RequestDeadline(limits)],
                    idleTimeout: TimeAmount(limits.idle)
                )
            ),
            configuration: ApplicationConfiguration(
                address: .hostname(address.bound, port: address.port),
                serverName: "accountctl",
                backlog: 256,
                availableConnectionsDelegate: .maximum(limits.connections, logger: logger)
            ),
            onServerRunning: { channel in started(channel.localAddress?.port ?? 0) },
            logger: logger
        )
        do {
            try await application.run()
        } catch {
            if let refusal = ListenerRefusal(error) { throw refusal }
            throw error
        }
    }
}
