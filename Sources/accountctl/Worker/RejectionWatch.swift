import AccountLifecycle
import JobQueue
import Logging
import ServiceLifecycle

/// Looks at the board of rejected client ids every few seconds, as long as the process runs.
struct RejectionWatch: Service {
    private static let pause = Duration.seconds(5)

    let board: RejectionBoard
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do {
                    try await board.exchange()
                } catch is CancellationError {
                    return
                } catch {
                    logger.warning("could not tell other workers about Apple", metadata: ["reason": "\(error)"])
                }
                try? await Task.sleep(for: Self.pause, clock: .continuous)
            }
        }
        // What was found out since is told before the process ends; cancelled, or without a database, it is left.
        try? await within(.seconds(2)) { try await board.exchange() }
    }
}
