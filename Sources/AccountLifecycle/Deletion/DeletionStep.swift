import Postgres

/// A recorded, repeatable part of a deletion; the cases are in the order in which the steps are taken.
package enum DeletionStep: String, Sendable, Hashable, Codable, CaseIterable, Comparable, PostgresDecodable {
    /// Checks, before anything is touched, for everything that could stop the run half-way.
    case preflight
    /// Bans the account and ends its sessions; from here on the person cannot cancel.
    case lockOut = "lock_out"
    /// Revokes every credential held at Apple.
    case revokeApple = "revoke_apple"
    /// Removes the account's objects through the Storage API.
    case deleteAvatars = "delete_avatars"
    /// Removes the profile and the auth user, with all rows that cascade.
    case deleteRows = "delete_rows"
    /// Removes what the cascade leaves in the auth schema.
    case scrubAuth = "scrub_auth"
    /// Searches everything readable for each identifier.
    case verify
    /// Searches one last time, once no old access token and no upload URL signed for one can be used to write.
    case settle
    /// Writes the evidence and erases the identifiers.
    case receipt

    /// The steps after the lock-out: each cannot be undone, or follows one that cannot.
    static let afterLockOut = allCases.filter { $0 > .lockOut }

    /// An expression for the step of the request `r` that was begun last.
    ///
    /// Ties are broken by name, so that every command shows the same step.
    static let begunLast: Statement = """
        (
            select s.step
            from accountctl.deletion_steps as s
            where s.request_id = r.id
            order by s.started_at desc nulls last, s.step
            limit 1
        )
        """

    package static func < (left: DeletionStep, right: DeletionStep) -> Bool {
        left.position < right.position
    }

    /// The position of the step in the run.
    private var position: Int {
        switch self {
        case .preflight: 0
        case .lockOut: 1
        case .revokeApple: 2
        case .deleteAvatars: 3
        case .deleteRows: 4
        case .scrubAuth: 5
        case .verify: 6
        case .settle: 7
        case .receipt: 8
        }
    }
}
