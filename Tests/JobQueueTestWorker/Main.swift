import Foundation
import JobQueue
import Logging
import Postgres
import ServiceLifecycle
import UnixSignals

/// A worker in a process of its own, for tests that kill, stop and trap it.
///
/// `JobQueueTestWorker CONNINFO LEASE_MILLISECONDS SLOTS`: SIGTERM begins a graceful shutdown, SIGINT ends at once.
@main
enum Main {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4, let lease = Int(arguments[2]), let slots = Int(arguments[3]) else {
            FileHandle.standardError.write(Data("usage: JobQueueTestWorker CONNINFO LEASE_MILLISECONDS SLOTS\n".utf8))
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
        configuration.shutdownGrace = .seconds(10)
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
