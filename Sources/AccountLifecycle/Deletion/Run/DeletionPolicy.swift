package import Postgres

/// The operator's settings for deletions.
package struct DeletionPolicy: Sendable, Hashable {
    /// How long a person can cancel; zero is allowed.
    package var grace: Duration = .seconds(24 * 3600)
    /// How long an access token is accepted at most: once this has passed after the lock-out, no old token can be used
    /// to write.
    package var tokenLife: Duration = acceptance(ofTokensLiving: .seconds(3600))
    /// How long an upload URL that Storage signed is accepted: such an upload is checked against no policy, and writes
    /// in the name of the user for whom it was signed.
    package var uploadLife: Duration = .seconds(7200)
    /// How many accounts may be locked out within an hour; nil for the larger of 50 and 1 % of all accounts.
    package var hourlyCeiling: Int?
    /// Buckets from which an account's objects are deleted.
    package var buckets: Set<String> = ["avatars"]
    /// Buckets that may keep objects of erased accounts.
    package var keptBuckets: Set<String> = []
    /// Which folders hold files without an owner that belong to the account whose profile names them.
    package var avatarFolders = AvatarFolders()
    /// How many rows of one table a run may delete; more than that need a person's attention.
    package var maximumRows: Int = 1_000_000
    /// Rows deleted per transaction where a table holds many rows of an account.
    package var batchRows: Int = 5_000
    /// How long a statement over an account's rows may take before it must wait for a permit, as scans of whole tables
    /// do; with zero each such statement needs one.
    var briefly: Duration = .seconds(3)
    /// How long a request waits for Apple before it continues without; never beyond a day before the legal deadline.
    package var appleGiveUp: Duration = .seconds(7 * 86_400)

    package init() {}

    /// How long tokens of a given lifetime are accepted; zero stays zero.
    ///
    /// PostgREST accepts a token for 30 seconds after its expiry, to allow for clock skew, and our clock may be off,
    /// too.
    package static func acceptance(ofTokensLiving life: Duration) -> Duration {
        life == .zero ? .zero : life + .seconds(60)
    }

    /// How long after the lock-out something may still be written in the account's name.
    ///
    /// The last use of an old token may be to have an upload signed, so with Storage both lifetimes add up.
    func settling(withStorage hasStorage: Bool) -> Duration {
        hasStorage ? tokenLife + uploadLife : tokenLife
    }

    /// Writes the settings that functions in the database need to `accountctl.settings`.
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
