package import Logging
package import Postgres
import Waiting

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What the steps of a deletion use: the database, Apple, Storage, keys and the policy.
package struct DeletionServices: Sendable {
    let pool: Pool
    /// Connections for authorization codes, which are worth nothing after five minutes: erasures may hold all of `pool`
    /// for longer.
    let codes: Pool
    let policy: DeletionPolicy
    let vault: IdentifierVault
    let apple: AppleGateway
    let storage: StorageGateway
    let probe: DeletionProbe
    /// The logger for lines that are about no request.
    let log: Logger

    let catalogs = CatalogCache()
    /// Permits for whatever may hold a connection of `pool` for long.
    let passes: Permits
    /// The objects of accounts, looked for together.
    let objects: Coalescer<UUID, AccountObjects.Found>
    /// What the cascade leaves in the auth schema, removed together; nil where a brake was pulled meanwhile.
    let scrubs: Coalescer<UUID, AuthScrub.Counts?>
    /// The search for what is left, for all together.
    let searches: Coalescer<SearchTarget, SearchPass.Answer>
    /// Waits until all that is committed so far is on disk, together with everybody who has to: no lock-out may be lost
    /// once somebody outside was asked to forget the account.
    let flushes: Coalescer<Void, Void>
    /// How many accounts are locked out within an hour.
    let ceiling: HourlyCeiling

    /// How many accounts one pass over the big tables serves at most.
    private static let passLimit = 500

    /// Puts the services together; without `codes` the exchange of authorization codes shares the connections of the
    /// work.
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
        let passes = Permits(poolOf: pool.maximumConnections)
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
        // Without a rest: the time it takes is mostly that of waiting for a connection.
        flushes = Coalescer(limit: 1000, rest: 0) { waiting in
            // Any commit that changes something waits for the disk, and the log is one.
            try await pool.withConnection { connection in
                try connection.execute(
                    """
                    insert into accountctl.deletion_flushes (flushed_at)
                    values (clock_timestamp())
                    on conflict (only_row) do update
                    set flushed_at = excluded.flushed_at
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

    /// How long after its lock-out something may still be written in an account's name.
    var settling: Duration { policy.settling(withStorage: storage.isConfigured) }

    /// A logger that names the request, and never the account.
    func logger(for request: UUID) -> Logger {
        var logger = log
        logger[metadataKey: "request"] = "\(request.text)"
        return logger
    }
}
