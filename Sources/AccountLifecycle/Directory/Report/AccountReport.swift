package import JobQueue

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Everything that answers "what state is this account in, and why".
package struct AccountReport: Sendable {
    /// The row of `auth.users` and what hangs off it.
    package struct AuthUser: Sendable {
        package let email: String?
        package let emailConfirmedAt: Date?
        package let phone: String?
        package let phoneConfirmedAt: Date?
        package let createdAt: Date?
        package let lastSignInAt: Date?
        /// When the ban ends that holds now.
        let bannedUntil: Date?
        package let deletedAt: Date?
        package let isAnonymous: Bool
        package let isSSO: Bool
        package let sessions: Int
        package let factors: Int

        /// The ban that holds now.
        package var ban: AccountBan? { AccountBan(until: bannedUntil) }
    }

    /// A way to sign in.
    package struct Identity: Sendable {
        package let provider: String
        package let providerID: String
        package let email: String?
        /// What Apple's claim says of the address; nil where there is none.
        let isPrivateEmail: Bool?
        package let lastSignInAt: Date?
    }

    /// A credential held for revoking at Apple.
    package struct Credential: Sendable {
        package let clientID: String
        package let checkedAt: Date?
    }

    /// What Apple said last about the account's identity, or a device of a move to another team.
    package struct Mark: Sendable {
        /// `consent_revoked`, `account_deleted` or `transferred`.
        package let state: String
        package let since: Date
    }

    /// Something that Apple or a device told.
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
        /// Why it stands still; nil while a step of it is being taken.
        package let situation: Situation?
        /// Whether it is paused by itself.
        let isPaused: Bool
        /// Whether it has locked the account out, which is its ban from then on.
        package let isLockedOut: Bool
        /// Apple's outcome, once there is one.
        let apple: StepOutcome?

        /// Whether Apple's part of it is done, or on its way, so that no credential has to be held any more.
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
        /// nil where they were not counted.
        package let rows: Int?
        /// Why they were not counted.
        package var uncounted: Uncounted?

        /// What keeps rows from being counted.
        package enum Uncounted: String, Sendable {
            /// Counting would read the whole table.
            case noIndex = "no_index"
            /// Our role may not read the table, or does not see all of its rows.
            case noRight = "no_right"
            /// It was not done in the time there is.
            case noTime = "takes_long"
        }
    }

    /// The account's files in a bucket, by the rule of a deletion: those it owns, and of those nobody owns what lies in
    /// its folder or is named by its profile and by no other.
    ///
    /// Of the last the app's own are left out, and those of which no setting says whose they are count.
    package struct Files: Sendable {
        package let bucket: String
        package let count: Int
        package let bytes: Int64
        /// Files that the profile does not name; nil where profiles do not name files of this bucket.
        package let unused: Int?
        /// Files of nobody that the account's profile names and another account names, too, or that are older than the
        /// account.
        ///
        /// They stay when the account goes, and are not counted among its own. Nil where profiles do not name files of
        /// this bucket, and where telling would take long: there they are.
        package let shared: Int?
    }

    /// What a column of the profile holds.
    package struct ProfileValue: Sendable {
        /// The value as JSON text, a text without its quotes.
        package let text: String?
        /// The value as a moment; nil in a column of another type, and for one that is no date.
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
    /// Where mail to this account goes through Apple's relay.
    package let relay: RelayDirectory.Entry?
    package let credentials: [Credential]
    /// Nil where nothing was said, or the person signed in with Apple since.
    package let mark: Mark?
    package let events: [Event]
    /// The row of `public.profiles`, where there is one.
    package let profile: [String: ProfileValue]?
    package let files: [Files]
    /// Whether files were looked for by their owner too, wherever they lie: there is no index, so a large Storage is
    /// not read for it.
    package let filesAreWhole: Bool
    package let deletions: [Deletion]
    /// What operators stopped its open deletion by; nil where none is open.
    package let brakes: StandingBrakes?
    package let jobs: [Job]
    package let holds: [DeletionDesk.Hold]
    package let dependents: [Dependent]
    package let operations: [Operation]

    /// The deletion that is not ended.
    package var openDeletion: Deletion? { deletions.first { $0.finishedAt == nil } }
}
