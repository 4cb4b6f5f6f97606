import AccountLifecycle
import JobQueue
import Logging
import Metrics
import Postgres
import ServiceLifecycle

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Publishes gauges of deletions, mail and the web client secret while the process runs.
struct GaugeWatch: Service {
    private static let pause = Duration.seconds(30)

    let pool: Pool
    /// Nil if no copy of the secret is configured.
    let webSecret: WebSecretWatch?
    let logger: Logger
    var factory: any MetricsFactory = MetricsSystem.factory

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var (mail, webSecret) = (MailGauges(factory: factory), webSecret)
            var failures = FailureCounts()
            for what in ["deletions", "mail streams"] { FigureStamp(what, factory: factory).record(.now) }
            while !Task.isCancelled {
                await tell("deletions", &failures) { try await DeletionGauges.publish(from: pool, factory: factory) }
                await tell("mail streams", &failures) { try await mail.publish(from: pool) }
                webSecret?.look(logger)
                try? await Task.sleep(for: Self.pause, clock: .continuous)
            }
        }
    }

    /// Publishes one group of gauges; a failure to read it is logged and does not stop the other groups.
    func tell(_ what: String, _ failures: inout FailureCounts, _ publish: () async throws -> Void) async {
        do {
            try await publish()
            failures.succeeded(what)
            FigureStamp(what, factory: factory).record(.now)
        } catch is CancellationError {
            // The cancellation also ends the calling loop.
        } catch {
            let (times, level) = failures.failed(what)
            logger.log(
                level: level,
                "could not read the figures of \(what)",
                metadata: ["reason": "\(error)", "times": "\(times)"]
            )
        }
    }
}
