import Foundation
import JobQueue
import Logging
import Postgres
import ServiceLifecycle
import UnixSignals

/// A worker in a process of its own, for tests that kill, stop and trap it.
///
/// `JobQueueTestWorker CONNINFO LEASE_MILLISECONDS SLOTS GRACE_MILLISECONDS`: SIGTERM begins a graceful shutdown,
/// SIGINT ends at once. It exits with 1 when the worker threw.
@main
enum Main {
    static func main() async {
        do {
            try await run(CommandLine.arguments)
        } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
    }

    private static func run(_ arguments: [String]) async throws {
        guard arguments.count == 5, let lease = Int(arguments[2]), let slots = Int(arguments[3]),
            let grace = Int(arguments[4])
        else {
            let usage = "usage: JobQueueTestWorker CONNINFO LEASE_MILLISECONDS SLOTS GRACE_MILLISECONDS\n"
            FileHandle.standardError.write(Data(usage.utf8))
            exit(2)
        }
        let connection = ConnectionConfiguration(conninfo: arguments[1])
        let logger = Logger(label: "worker") { StreamLogHandler.standardError(label: $0) }
        var pool = PoolConfiguration(connection: connection)
        pool.maximumConnections = 4
        var configuration = WorkerConfiguration(name: "test-\(ProcessInfo.processInfo.processIdentifier)")
        configuration.leaseLifetime = .milliseconds(lease)
        configuration.slots = slots
        configuration.pollInterval = .milliseconds(100)
        configuration.shutdownGrace = .milliseconds(grace)
        let workerConfiguration = configuration
        try await Pool.withPool(pool, logger: logger) { pool in
            let worker = try Worker(
                queue: JobQueue(),
                pool: pool,
                listener: JobListener(connection, logger: logger),
                registry: TestHandlers.registry(),
                configuration: workerConfiguration,
                logger: logger
            )
            let group = ServiceGroup(
                configuration: ServiceGroupConfiguration(
                    services: [.init(service: worker)],
                    gracefulShutdownSignals: [.sigterm],
                    cancellationSignals: [.sigint],
                    logger: logger
                )
            )
            try await group.run()
        }
    }
}
