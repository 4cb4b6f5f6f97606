import AccountLifecycle
import Logging
import Postgres
import ServiceLifecycle

/// Reads how deletions stand, as long as the process runs.
struct DeletionGaugeWatch: Service {
    private static let pause = Duration.seconds(30)

    let pool: Pool
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do {
                    try await DeletionGauges.publish(from: pool)
                } catch is CancellationError {
                    return
                } catch {
                    logger.warning("could not read how deletions stand", metadata: ["reason": "\(error)"])
                }
                try? await Task.sleep(for: Self.pause, clock: .continuous)
            }
        }
    }
}
