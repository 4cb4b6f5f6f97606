import AccountLifecycle
import Logging
import Metrics
import Postgres
import ServiceLifecycle

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Tells monitoring how deletions, mail and the web client secret stand, as long as the process runs.
struct GaugeWatch: Service {
    private static let pause = Duration.seconds(30)

    let pool: Pool
    /// Nil where there is no copy of the secret.
    let webSecret: WebSecretWatch?
    let logger: Logger
    var factory: any MetricsFactory = MetricsSystem.factory

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var (mail, webSecret) = (MailGauges(factory: factory), webSecret)
            for what in ["deletions", "mail streams"] { FigureStamp(what, factory: factory).record(.now) }
            while !Task.isCancelled {
                await tell("deletions") { try await DeletionGauges.publish(from: pool, factory: factory) }
                await tell("mail streams") { try await mail.publish(from: pool) }
                webSecret?.look(logger)
                try? await Task.sleep(for: Self.pause, clock: .continuous)
            }
        }
    }

    /// One that cannot be read keeps none of the others from being told.
    func tell(_ what: String, _ publish: () async throws -> Void) async {
        do {
            try await publish()
            FigureStamp(what, factory: factory).record(.now)
        } catch is CancellationError {
            // The loop that called this ends by the cancellation, too.
        } catch {
            logger.warning("could not read how \(what) stand", metadata: ["reason": "\(error)"])
        }
    }
}
