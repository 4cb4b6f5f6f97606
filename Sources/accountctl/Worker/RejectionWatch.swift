import AccountLifecycle
import JobQueue
import Logging
import ServiceLifecycle

/// Exchanges rejected client ids with the board every few seconds while the process runs.
struct RejectionWatch: Service {
    private static let pause = Duration.seconds(5)

    let board: RejectionBoard
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            let what = "rejections"
            var failures = FailureCounts()
            while !Task.isCancelled {
                do {
                    try await board.exchange()
                    failures.succeeded(what)
                } catch is CancellationError {
                    return
                } catch {
                    let (times, level) = failures.failed(what)
                    logger.log(
                        level: level,
                        "could not exchange Apple's rejections with other workers",
                        metadata: ["reason": "\(error)", "times": "\(times)"]
                    )
                }
                try? await Task.sleep(for: Self.pause, clock: .continuous)
            }
        }
        // Findings since the last exchange are written before the process ends, unless it is cancelled or the database
        // is unreachable.
        try? await within(.seconds(2)) { try await board.exchange() }
    }
}
