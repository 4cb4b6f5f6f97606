/// Why a request stands still, and what resolves that; safe to show and to log, since it names no person.
package struct Situation: Sendable, Hashable, Codable {
    /// The stable name of a kind of situation.
    package enum Code: String, Sendable, Hashable, Codable, CaseIterable {
        /// An operator ran `deletion pause` for this request or for all.
        case paused
        /// The account is on legal hold.
        case legalHold = "legal_hold"
        /// The number of accounts locked out within the last hour has reached the ceiling.
        case ceiling
        /// Rows refer to the account by a foreign key that does not cascade, and that we do not delete ourselves.
        case blockingRows = "blocking_rows"
        /// A trigger refuses the delete, or the ban that precedes it.
        case refusingTrigger = "refusing_trigger"
        /// A table's deletes or updates are published, and it has no replica identity.
        case unpublishable
        /// A foreign key is not in effect, so that a delete would leave the rows that refer by it.
        case idleKey = "idle_key"
        /// A right is missing on a table that must be read or deleted from.
        case missingRight = "missing_right"
        /// Row-level security hides rows from our role, so that no query result can be relied on.
        case hiddenRows = "hidden_rows"
        /// More rows depend on the account than a run may delete.
        case tooLarge = "too_large"
        /// The account owns objects in a bucket that is configured neither for deletion nor for keeping.
        case undecidedBucket = "undecided_bucket"
        /// The account's profile names an object without an owner, in a folder for which nobody has configured whose
        /// files it holds, and no other profile names it.
        case undecidedFile = "undecided_file"
        /// Storage cannot be reached or rejects our key.
        case storageUnusable = "storage_unusable"
        /// The sealing key that the request's identifiers need is not configured.
        case sealingKeyMissing = "sealing_key_missing"
        /// Apple rejects our configuration for a client id.
        case appleMisconfigured = "apple_misconfigured"
        /// Apple is unreachable or does not answer as specified.
        case appleUnreachable = "apple_unreachable"
        /// An authorization code of the account is being exchanged at Apple: the resulting grant has to be revoked,
        /// too.
        case codeUnderWay = "code_under_way"
        /// The account was created after the request, and so is not the one that was meant.
        case otherAccount = "other_account"
        /// Identifiers were found where the program may not remove them.
        case residue
        /// A step failed in a way that a retry may resolve.
        case failing
    }

    /// A column that still holds an identifier.
    package struct Finding: Sendable, Hashable, Codable, Comparable {
        /// `schema.table.column`.
        package let column: String
        /// The kinds of identifiers that were found there.
        package let identifiers: [Identifier.Kind]
        /// The number of values in which they were found.
        package let count: Int

        init(column: String, identifiers: [Identifier.Kind], count: Int) {
            self.column = column
            self.identifiers = identifiers
            self.count = count
        }

        package static func < (left: Finding, right: Finding) -> Bool { left.column < right.column }
    }

    /// The setting at fault, where a retry changes nothing.
    package enum Fault: String, Sendable, Hashable, Codable {
        /// The key is rejected.
        case key
        /// The request is rejected because of the address or another setting.
        case settings
    }

    package let code: Code
    /// The setting at fault; nil where the situation may resolve by itself.
    package var fault: Fault?
    /// The blockers of the delete.
    package var blockers: [Blocker]?
    /// The columns in which identifiers were found.
    package var findings: [Finding]?
    /// The Apple client id, bucket, sealing key id or setting concerned.
    package var subject: String?
    /// Further details for an operator.
    package var detail: String?
    /// How long to wait at least, often as Apple or Storage asked; not stored, since the next attempt is already
    /// delayed by it.
    var retryAfter: Duration?
    /// Whether Apple was not asked at all; not stored, since it concerns one attempt only.
    var isUnasked = false
    /// As how many failures in a row the attempt counts; not stored, since it concerns one attempt only.
    var failures = 1

    private enum CodingKeys: CodingKey {
        case code, fault, blockers, findings, subject, detail
    }

    package init(
        _ code: Code,
        fault: Fault? = nil,
        subject: String? = nil,
        detail: String? = nil,
        blockers: [Blocker]? = nil,
        findings: [Finding]? = nil,
        retryAfter: Duration? = nil
    ) {
        self.code = code
        self.fault = fault
        self.subject = subject
        self.detail = detail
        self.blockers = blockers
        self.findings = findings
        self.retryAfter = retryAfter
    }

    /// The situation that something prevents the delete; nil for no blockers.
    static func blocked(by blockers: [Blocker]) -> Situation? {
        blockers.first.map { Situation($0.code, blockers: blockers) }
    }

    /// The situation that buckets with objects of the account are not configured; nil for no buckets.
    static func undecided(_ buckets: some Collection<String>) -> Situation? {
        buckets.min().map { first in
            Situation(
                .undecidedBucket,
                subject: first,
                detail: buckets.count > 1 ? buckets.sorted().joined(separator: ", ") : nil
            )
        }
    }

    /// The situation that nobody has configured whose the files are that only the account's profile names; nil for no
    /// files.
    ///
    /// The files are not named, since people choose the names of files and folders.
    static func undecided(files count: Int) -> Situation? {
        count > 0 ? Situation(.undecidedFile, subject: AccountObjects.bucketOfProfiles) : nil
    }

    /// The given delay, or a longer one if the situation asks for it.
    func delay(atLeast least: Duration) -> Duration {
        max(least, retryAfter ?? .zero)
    }
}
