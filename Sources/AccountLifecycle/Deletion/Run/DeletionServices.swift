package import Logging
package import Postgres
import Waiting

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Everything that the steps of a deletion use: the database, Apple, Storage, keys and the policy.
package struct DeletionServices: Sendable {
    let pool: Pool
    /// Connections for exchanging authorization codes, which expire after five minutes: deletions may occupy all of
    /// `pool` for longer.
    let codes: Pool
    let policy: DeletionPolicy
    let vault: IdentifierVault
    let apple: AppleGateway
    let storage: StorageGateway
    let probe: DeletionProbe
    /// The logger for lines that concern no request.
    let log: Logger

    let catalogs = CatalogCache()
    /// Permits for work that may hold a connection of `pool` for half an hour; one connection is left for all other work,
    /// which needs one only for a moment.
    let passes: Permits
    /// Finds the objects of several accounts in one pass.
    let objects: Coalescer<UUID, AccountObjects.Found>
    /// Removes what the cascade leaves in the auth schema, for several accounts in one pass; nil for an account that
    /// was stopped meanwhile.
    let scrubs: Coalescer<UUID, AuthScrub.Counts?>
    /// Searches for what is left, for several requests in one pass.
    let searches: Coalescer<SearchTarget, SearchPass.Answer>
    /// Waits until everything committed so far is on disk, one flush for all who wait: no lock-out may be lost once an
    /// outside system was asked to delete data of the account.
    let flushes: Coalescer<Void, Void>
    /// The limit on how many accounts are locked out within an hour.
    let ceiling: HourlyCeiling

    /// How many accounts one pass over the large tables serves at most.
    private static let passLimit = 500

    /// Creates the services; without `codes`, the exchange of authorization codes shares `pool`.
    package init(
        pool: Pool,
        codes: Pool? = nil,
        policy: DeletionPolicy,
        vault: IdentifierVault,
        apple: AppleGateway,
        storage: StorageGateway,
        logger: Logger,
        probe: @escaping DeletionProbe = { _ in }
    ) {
        self.pool = pool
        self.codes = codes ?? pool
        self.policy = policy
        self.vault = vault
        self.apple = apple
        self.storage = storage
        log = logger
        self.probe = probe
        ceiling = HourlyCeiling(configured: policy.hourlyCeiling)
        let passes = Permits(leavingOneOf: pool.maximumConnections)
        self.passes = passes
        objects = Coalescer(limit: Self.passLimit) { users in
            try await passes.with { _ in
                try await pool.withConnection { connection in
                    let found = try AccountObjects.find(
                        of: users,
                        // Not by a plan some seconds old: what a profile names by another column would stay for ever.
                        profiles: DeletionCatalog.readProfiles(on: connection),
                        folders: policy.avatarFolders,
                        on: connection
                    )
                    return users.map { found[$0] ?? AccountObjects.Found() }
                }
            }
        }
        scrubs = Coalescer(limit: Self.passLimit) { users in
            try await passes.with { _ in
                try await AuthScrub.pass(for: users, keptBuckets: policy.keptBuckets, pool: pool)
            }
        }
        // No rest between flushes: most of their time is spent waiting for a connection.
        flushes = Coalescer(limit: 1000, rest: 0) { waiting in
            // The write-ahead log is sequential, so any commit that changes something and waits for the disk flushes
            // all earlier commits. Behind a transaction pooler, where sessions keep no settings, the statement itself
            // makes its commit wait. A transaction around it would keep the row, for which all workers wait, locked
            // between its statements.
            try await pool.withConnection { connection in
                try connection.execute(
                    """
                    insert into accountctl.deletion_flushes (flushed_at)
                    values (clock_timestamp())
                    on conflict (only_row) do update
                    set flushed_at = excluded.flushed_at
                    returning \(Statement.flushing())
                    """
                )
            }
            return waiting
        }
        searches = Coalescer(limit: Self.passLimit) { targets in
            try await passes.with(upTo: 2) { connections in
                try await SearchPass.run(
                    targets,
                    keptBuckets: policy.keptBuckets,
                    pool: pool,
                    connections: connections
                )
            }
        }
    }

    /// How long after the lock-out something may still be written in the account's name.
    var settling: Duration { policy.settling(withStorage: storage.isConfigured) }

    /// A logger that names the request but never the account.
    func logger(for request: UUID) -> Logger {
        var logger = log
        logger[metadataKey: "request"] = "\(request.text)"
        return logger
    }
}
