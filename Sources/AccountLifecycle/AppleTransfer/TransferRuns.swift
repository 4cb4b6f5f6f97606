package import Postgres
package import SignInWithApple

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The calls to Apple of a team transfer: one user at a time, at a bounded rate.
///
/// Each result is recorded before the next call, so a run can be stopped at any time: what is recorded is not asked
/// again.
package struct TransferRuns: Sendable {
    let pool: Pool
    let client: AppleClient
    let transfer: TeamTransfer
    let pause: Duration
    let retriesRefused: Bool
    /// How many rows of accounts one statement reads.
    var pageRows = 500
    /// How long an account's lock is waited for.
    var lockPatience = Duration.seconds(5)

    /// Prepares runs.
    ///
    /// - Parameters:
    ///   - pool: The database.
    ///   - client: The client of the side that runs: the sender's to generate, the recipient's to exchange.
    ///   - transfer: Which app moves where.
    ///   - callsPerSecond: The most calls per second; Apple publishes no limit for this endpoint.
    ///   - retriesRefused: Whether users whom Apple refused in an earlier run are asked about again, and every refusal
    ///     is recorded at once.
    package init(
        pool: Pool,
        client: AppleClient,
        transfer: TeamTransfer,
        callsPerSecond: Double = 10,
        retriesRefused: Bool = false
    ) {
        self.pool = pool
        self.client = client
        self.transfer = transfer
        self.retriesRefused = retriesRefused
        pause = .seconds(1 / max(0.1, min(callsPerSecond, 1000)))
    }

    /// Gets a transfer identifier for every account that has none; the sending team's side.
    ///
    /// - Parameter progress: Called after each user with the number of users processed.
    /// - Returns: The results.
    /// - Throws: ``PostgresError``; `CancellationError`.
    package func generate(progress: @Sendable (Int) -> Void = { _ in }) async throws -> TeamTransfer.Run {
        let side = SendingTeam(client: client, transfer: transfer, retriedBefore: try await retriedBefore())
        return try await run(side, progress: progress)
    }

    /// Asks who each user is in the receiving team; the recipient's side.
    ///
    /// - Parameter progress: Called after each user with the number of users processed.
    /// - Returns: The results.
    /// - Throws: ``PostgresError``; `CancellationError`.
    package func exchange(progress: @Sendable (Int) -> Void = { _ in }) async throws -> TeamTransfer.Run {
        let side = ReceivingTeam(client: client, transfer: transfer, retriedBefore: try await retriedBefore())
        return try await run(side, progress: progress)
    }

    /// Users refused before this time are asked about again; nil for none.
    private func retriedBefore() async throws -> Date? {
        guard retriesRefused else { return nil }
        return try await pool.withConnection { try $0.one("select clock_timestamp()", as: Date.self) }
    }
}
