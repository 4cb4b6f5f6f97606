package import Logging

/// A few connections shared by many tasks: first come, first served.
///
/// Connections are made when they are needed, and kept; a request that waits for a new one takes one that is released
/// first. There is nothing to run: a pool lives as long as the closure it is given to, and so does whatever it began.
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
/// thread. Their child tasks run on that thread too, one after the other; keep CPU-heavy work out, and do not ask the
/// pool for a second connection while holding one: with all connections held that way nobody would ever get it.
package final class Pool: Sendable {
    /// How it behaves.
    package let configuration: PoolConfiguration
    private let driver: PoolDriver

    private init(_ configuration: PoolConfiguration, logger: Logger) {
        self.configuration = configuration
        driver = PoolDriver(configuration, logger: logger)
    }

    /// Gives `body` a pool and closes it afterwards.
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
    /// A transaction that the closure leaves open is rolled back, and the connection dropped.
    ///
    /// - Throws: What `body` throws; ``PostgresError`` `poolExhausted` when no connection came free in time, what the
    ///   last attempt to make one told when there is no server, `poolClosed`; `CancellationError`.
    @discardableResult
    package func withConnection<Result: Sendable>(
        _ body: @Sendable (isolated Connection) async throws -> Result
    ) async throws -> Result {
        var acquisition = driver.newAcquisition(until: .now.advanced(by: configuration.acquireDeadline))
        while true {
            let (id, connection, isUsed) = try await driver.acquire(&acquisition)
            // All of a lease happens on the connection's thread, its beginning and its end included: every change of
            // threads is two wake-ups, which cost as much as a statement.
            let result: Result? = try await connection.lease { [driver] connection in
                // It may have been lost since it was last looked at.
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

    /// How many connections there are at most.
    package var maximumConnections: Int { max(1, configuration.maximumConnections) }

    /// How many connections lie ready, are leased or being made, and how many requests wait.
    package var counts: (idle: Int, inUse: Int, waiting: Int) { driver.counts }
}
