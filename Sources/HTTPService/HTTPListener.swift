import Hummingbird
import Logging
import NIOCore

/// What both listeners have in common: bounds on how many clients there are and how long they may take.
struct HTTPListener {
    let address: ListenerAddress
    let limits: ListenerLimits
    let logger: Logger
    let started: @Sendable (Int) -> Void

    /// Serves until the service is shut down or cancelled.
    ///
    /// - Throws: ``ListenerRefusal`` where nobody can listen at the address.
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
