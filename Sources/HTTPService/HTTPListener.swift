import Hummingbird
import Logging
import NIOCore

/// What both listeners have in common: bounds on what a client may send and how long it may take.
struct HTTPListener {
    let name: String
    let address: ListenerAddress
    let logger: Logger
    let started: @Sendable (Int) -> Void

    /// Serves until the service is shut down or cancelled.
    func run<Context: RequestContext>(_ router: Router<Context>) async throws
    where Context.Source == ApplicationRequestContextSource {
        let started = started
        let application = Application(
            router: router,
            server: .http1(configuration: .init(idleTimeout: .seconds(30))),
            configuration: ApplicationConfiguration(
                address: .hostname(address.host, port: address.port),
                serverName: "accountctl",
                backlog: 256
            ),
            onServerRunning: { channel in started(channel.localAddress?.port ?? 0) },
            logger: logger
        )
        try await application.run()
    }
}
