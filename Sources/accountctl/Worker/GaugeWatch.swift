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
            var (mail, webSecret) = (MailGauges(), webSecret)
            // An alarm on the age of figures that were never read would never go off.
            for what in ["deletions", "mail streams"] { stamp(what) }
            while !Task.isCancelled {
                await tell("deletions") { try await DeletionGauges.publish(from: pool) }
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
            stamp(what)
        } catch is CancellationError {
            // The loop ends by it.
        } catch {
            logger.warning("could not read how \(what) stand", metadata: ["reason": "\(error)"])
        }
    }

    /// Tells when the figures were read: they keep their last values while the database is away.
    private func stamp(_ what: String) {
        Gauge(label: "accountctl_figures_timestamp_seconds", dimensions: [("figures", what)], factory: factory)
            .record(Date.now.timeIntervalSince1970)
    }
}
