package import JobQueue

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Everything that answers "what state is this account in, and why".
package struct AccountReport: Sendable {
    /// The row of `auth.users` and counts of the rows that depend on it.
    package struct AuthUser: Sendable {
        package let email: String?
        package let emailConfirmedAt: Date?
        package let phone: String?
        package let phoneConfirmedAt: Date?
        package let createdAt: Date?
        package let lastSignInAt: Date?
        /// The end of the ban in force now.
        let bannedUntil: Date?
        package let deletedAt: Date?
        package let isAnonymous: Bool
        package let isSSO: Bool
        package let sessions: Int
        package let factors: Int

        /// The ban in force now.
        package var ban: AccountBan? { AccountBan(until: bannedUntil) }
    }

    /// A way to sign in.
    package struct Identity: Sendable {
        package let provider: String
        package let providerID: String
        package let email: String?
        /// What Apple's claim says about the address; nil if there is none.
        let isPrivateEmail: Bool?
        package let lastSignInAt: Date?
    }

    /// A credential kept for revoking at Apple.
    package struct Credential: Sendable {
        package let clientID: String
        package let checkedAt: Date?
    }

    /// What Apple last reported about the account's identity, or a device about a move to another team.
    package struct Mark: Sendable {
        /// `consent_revoked`, `account_deleted` or `transferred`.
        package let state: String
        package let since: Date
    }

    /// Something that Apple or a device reported.
    package struct Event: Sendable {
        package let kind: String
        package let source: String
        package let happenedAt: Date
        package let outcome: String?
    }

    /// A deletion request of this account, open or ended.
    package struct Deletion: Sendable {
        package let request: UUID
        package let state: DeletionState
        package let origin: String
        package let requestedAt: Date
        package let finishedAt: Date?
        /// Why it makes no progress; nil while one of its steps is running.
        package let situation: Situation?
        /// Whether it is paused individually.
        let isPaused: Bool
        /// Whether it has locked the account out; the account's ban is then that lock-out.
        package let isLockedOut: Bool
        /// The outcome at Apple, once there is one.
        let apple: StepOutcome?

        /// Whether the revocation at Apple is done or scheduled, so that no credential needs to be kept any more.
        var isRevoking: Bool {
            apple == .revoked || apple == .pending
        }
    }

    /// A job that works on this account's deletion.
    package struct Job: Sendable {
        package let id: Int64
        package let kind: String
        package let state: JobState
        package let runAt: Date
    }

    /// A table of the app that refers to the account.
    package struct Dependent: Sendable, Hashable {
        package let table: String
        package let column: String
        /// What deleting the account does to the rows: `cascade`, `set null`, `no action` and so on.
        package let onDelete: String
        /// The number of rows; nil if they were not counted.
        package let rows: Int?
        /// Why they were not counted.
        package var uncounted: Uncounted?

        /// What keeps rows from being counted.
        package enum Uncounted: String, Sendable {
            /// Counting would scan the whole table.
            case noIndex = "no_index"
            /// Our role may not read the table, or does not see all of its rows.
            case noRight = "no_right"
            /// Counting did not finish before its deadline.
            case noTime = "takes_long"
        }
    }

    /// The account's files in a bucket, by the rule of a deletion.
    ///
    /// They are the files that it owns and, of the unowned ones, those in its folder and those that its profile alone
    /// names. Of the last, the app's own are left out, and those whose folder no setting assigns are counted.
    package struct Files: Sendable {
        package let bucket: String
        package let count: Int
        package let bytes: Int64
        /// How many files the profile does not name; nil where profiles do not name files of this bucket.
        package let unused: Int?
        /// How many unowned files the account's profile names that another account names too, or that are older than
        /// the account.
        ///
        /// They stay when the account is deleted, and are not counted among its own. Nil where profiles do not name
        /// files of this bucket, and where the check would take long; in that case they are counted.
        package let shared: Int?
    }

    /// The value of a column of the profile.
    package struct ProfileValue: Sendable {
        /// The value as JSON text; a string without its quotes.
        package let text: String?
        /// The value as a date; nil in a column of another type, and for an infinite timestamp.
        package let moment: Date?
    }

    /// Something an operator did.
    package struct Operation: Sendable {
        package let at: Date
        package let who: String
        package let action: String
        package let reason: String?
    }

    package let id: UUID
    package let standing: AccountStanding
    package let authUser: AuthUser
    package let identities: [Identity]
    /// The relay address, if mail to this account goes through Apple's relay.
    package let relay: RelayDirectory.Entry?
    package let credentials: [Credential]
    /// Nil if nothing was reported, or if the person has signed in with Apple since.
    package let mark: Mark?
    package let events: [Event]
    /// The row of `public.profiles`, if there is one.
    package let profile: [String: ProfileValue]?
    package let files: [Files]
    /// Whether files were also searched by owner in all buckets; no index serves that, so a large Storage is not
    /// scanned.
    package let filesAreWhole: Bool
    package let deletions: [Deletion]
    /// How operators have stopped its open deletion; nil if none is open.
    package let brakes: StandingBrakes?
    package let jobs: [Job]
    package let holds: [DeletionDesk.Hold]
    package let dependents: [Dependent]
    package let operations: [Operation]

    /// The deletion that has not ended.
    package var openDeletion: Deletion? { deletions.first { $0.finishedAt == nil } }
}
