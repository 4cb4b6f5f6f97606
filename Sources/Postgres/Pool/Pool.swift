package import Logging

/// A few connections shared by many tasks: first come, first served.
///
/// Connections are opened on demand and kept; a request that waits for a new one takes one that is released first.
/// There is nothing to run: a pool lives as long as the closure that it is passed to, and so does everything it
/// started.
///
/// ```swift
/// try await Pool.withPool(PoolConfiguration(connection: configuration), logger: logger) { pool in
///     let count = try await pool.withConnection { connection in
///         try connection.one("select count(*) from auth.users", as: Int.self)
///     }
/// }
/// ```
///
/// The closures are isolated to their connection: inside, statements are synchronous calls on the connection's own
/// thread. Their child tasks also run on that thread, serially; keep CPU-heavy work out. Do not request a second
/// connection while holding one: if all connections are held that way, nobody ever gets it.
package final class Pool: Sendable {
    /// The settings of the pool.
    package let configuration: PoolConfiguration
    private let driver: PoolDriver

    private init(_ configuration: PoolConfiguration, logger: Logger) {
        self.configuration = configuration
        driver = PoolDriver(configuration, logger: logger)
    }

    /// Passes a pool to `body` and closes it afterwards.
    @discardableResult
    package static func withPool<Result: Sendable>(
        _ configuration: PoolConfiguration,
        logger: Logger,
        _ body: @Sendable (Pool) async throws -> Result
    ) async throws -> Result {
        let pool = Pool(configuration, logger: logger)
        do {
            let result = try await body(pool)
            await pool.driver.close()
            return result
        } catch {
            await pool.driver.close()
            throw error
        }
    }

    /// Leases a connection for the duration of a closure.
    ///
    /// If the closure leaves a transaction open, it is rolled back, and the connection dropped.
    ///
    /// - Throws: What `body` throws; ``PostgresError`` `poolExhausted` if no connection became free in time, the error
    ///   of the last attempt to connect if there is no server, `poolClosed`; `CancellationError`.
    @discardableResult
    package func withConnection<Result: Sendable>(
        _ body: @Sendable (isolated Connection) async throws -> Result
    ) async throws -> Result {
        var acquisition = driver.newAcquisition(until: .now.advanced(by: configuration.acquireDeadline))
        while true {
            let (id, connection, isUsed) = try await driver.acquire(&acquisition)
            // All of a lease happens on the connection's thread, including its beginning and end: every change of
            // threads is two wake-ups, which cost as much as a statement.
            let result: Result? = try await connection.lease { [driver] connection in
                // It may have been lost since the last check.
                guard !isUsed || connection.isAlive() else {
                    await driver.release(id, isUsable: false)
                    return nil
                }
                do {
                    let result = try await body(connection)
                    await driver.release(id, isUsable: connection.isReusable())
                    return result
                } catch {
                    await driver.release(id, isUsable: connection.isReusable())
                    throw error
                }
            }
            if let result { return result }
        }
    }

    /// Leases a connection and runs a closure in a transaction on it.
    ///
    /// - Throws: As ``withConnection(_:)`` and ``Connection/transaction(isolation:readOnly:_:)``.
    @discardableResult
    package func withTransaction<Result: Sendable>(
        _ body: @Sendable (isolated Connection) async throws -> Result
    ) async throws -> Result {
        try await withConnection { connection in try await connection.transaction(body) }
    }

    /// The maximum number of connections.
    package var maximumConnections: Int { max(1, configuration.maximumConnections) }

    /// How many connections are idle, how many are leased or being opened, and how many requests wait.
    package var counts: (idle: Int, inUse: Int, waiting: Int) { driver.counts }
}
