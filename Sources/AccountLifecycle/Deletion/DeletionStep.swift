import Postgres

/// A recorded, repeatable part of a deletion, in the order they are taken.
package enum DeletionStep: String, Sendable, Hashable, Codable, CaseIterable, Comparable, PostgresDecodable {
    /// Looks, before anything is touched, at everything that could stop the run half-way.
    case preflight
    /// Bans the account and ends its sessions; from here there is no way back for the person.
    case lockOut = "lock_out"
    /// Revokes every credential held at Apple.
    case revokeApple = "revoke_apple"
    /// Removes the account's objects through the Storage API.
    case deleteAvatars = "delete_avatars"
    /// Removes the profile and the auth user with all that cascades.
    case deleteRows = "delete_rows"
    /// Removes what the cascade leaves in the auth schema.
    case scrubAuth = "scrub_auth"
    /// Searches everything readable for every identifier.
    case verify
    /// Searches a last time, when nothing can be written by an old access token, or by an upload signed for one, any
    /// more.
    case settle
    /// Writes the evidence and forgets the identifiers.
    case receipt

    /// The steps that cannot be undone, or that follow one which cannot.
    static let afterLockOut = allCases.filter { $0 > .lockOut }

    /// The step of the request `r` that was begun last, as an expression.
    ///
    /// Of two that were begun at one instant it is always the same, so that every command tells the same.
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

    /// The place of the step in the run.
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
