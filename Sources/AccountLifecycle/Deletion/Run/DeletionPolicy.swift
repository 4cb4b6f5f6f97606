package import Postgres

/// What the operator of the product decides about deletions.
package struct DeletionPolicy: Sendable, Hashable {
    /// How long a person can cancel; zero is allowed.
    package var grace: Duration = .seconds(24 * 3600)
    /// How long an access token is accepted at most: after the lock-out plus this no old token can write by itself any
    /// more.
    package var tokenLife: Duration = acceptance(ofTokensLiving: .seconds(3600))
    /// How long an address is accepted that Storage signed for an upload; it then asks no policy, and writes in the
    /// name of whoever it was signed for.
    package var uploadLife: Duration = .seconds(7200)
    /// How many accounts may be locked out within an hour; nil for the larger of 50 and 1 % of all accounts.
    package var hourlyCeiling: Int?
    /// Buckets of which an account's objects are deleted.
    package var buckets: Set<String> = ["avatars"]
    /// Buckets that may keep objects of erased accounts.
    package var keptBuckets: Set<String> = []
    /// Whose files of nobody are that profiles name, by folder.
    package var avatarFolders = AvatarFolders()
    /// Rows of one table that a run may delete; beyond it a person should look.
    package var maximumRows: Int = 1_000_000
    /// Rows deleted in one transaction where a table holds many of an account.
    package var batchRows: Int = 5_000
    /// How long a statement over an account's rows may take before it has to wait for a permit, as passes over whole
    /// tables do; with zero each has to.
    var briefly: Duration = .seconds(3)
    /// How long a request waits for Apple before it goes on without; always cut at a day before the legal deadline.
    package var appleGiveUp: Duration = .seconds(7 * 86_400)
    /// How often revoking is tried once the account is locked out, before the credential is handed over to later
    /// attempts.
    var appleAttempts: Int = 5
    /// How long revoking is tried after the account is gone.
    var revocationGiveUp: Duration = .seconds(30 * 86_400)

    package init() {}

    /// How long tokens of a life are accepted; zero stays zero.
    ///
    /// PostgREST takes one for half a minute after its end, as clocks differ, and ours may differ, too.
    package static func acceptance(ofTokensLiving life: Duration) -> Duration {
        life == .zero ? .zero : life + .seconds(60)
    }

    /// How long after its lock-out something may still be written in an account's name.
    ///
    /// The last thing an old token does may be to have an upload signed.
    func settling(withStorage hasStorage: Bool) -> Duration {
        hasStorage ? tokenLife + uploadLife : tokenLife
    }

    /// Writes what functions in the database need to `accountctl.settings`.
    ///
    /// - Throws: `PostgresError`.
    package func publish(on connection: isolated Connection) throws {
        let grace = "\(grace.wholeSeconds) seconds"
        try connection.execute(
            """
            insert into accountctl.settings (name, value)
            values ('deletion.grace', to_jsonb(\(grace)::text))
            on conflict (name) do update
            set value = excluded.value, updated_at = now()
            where settings.value is distinct from excluded.value
            """
        )
    }
}
