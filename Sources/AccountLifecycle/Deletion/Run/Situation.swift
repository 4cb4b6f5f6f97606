/// Why a request stands still, and what ends that; safe to show and to log, since it names no person.
package struct Situation: Sendable, Hashable, Codable {
    /// The stable name of a situation.
    package enum Code: String, Sendable, Hashable, Codable, CaseIterable {
        /// `deletion pause` was given for the request or for everything.
        case paused
        /// A legal hold lies on the account.
        case legalHold = "legal_hold"
        /// As many accounts were locked out within an hour as the ceiling allows.
        case ceiling
        /// Rows refer to the account by a foreign key that neither cascades nor is ours to delete.
        case blockingRows = "blocking_rows"
        /// A trigger refuses the delete, or the ban before it.
        case refusingTrigger = "refusing_trigger"
        /// A table's deletes or updates are published, and it has no replica identity.
        case unpublishable
        /// A foreign key does not act, so that a delete would leave the rows that refer by it.
        case idleKey = "idle_key"
        /// A right is missing on a table that must be read or deleted from.
        case missingRight = "missing_right"
        /// Row-level security hides rows from our role, so that nothing it says can be believed.
        case hiddenRows = "hidden_rows"
        /// More rows hang off the account than a run may delete.
        case tooLarge = "too_large"
        /// The account owns objects in a bucket that is declared neither to be deleted nor to be kept.
        case undecidedBucket = "undecided_bucket"
        /// The account's profile alone names an object of nobody, in a folder of which nobody said whose files are there.
        case undecidedFile = "undecided_file"
        /// Storage cannot be reached or refuses our key.
        case storageUnusable = "storage_unusable"
        /// The sealing key that the request's identifiers need is not configured.
        case sealingKeyMissing = "sealing_key_missing"
        /// Apple refuses our configuration for a client id.
        case appleMisconfigured = "apple_misconfigured"
        /// Apple does not answer as it should.
        case appleUnreachable = "apple_unreachable"
        /// A code of the account is on its way to Apple: what it gives is to be revoked, too.
        case codeUnderWay = "code_under_way"
        /// The account was created after the request: it is not the one that was meant.
        case otherAccount = "other_account"
        /// Identifiers were found where the program may not remove them.
        case residue
        /// A step failed in a way that trying again may cure.
        case failing
    }

    /// A column that still holds an identifier.
    package struct Finding: Sendable, Hashable, Codable, Comparable {
        /// `schema.table.column`.
        package let column: String
        /// Which kinds of identifier were found there.
        package let identifiers: [Identifier.Kind]
        /// In how many values.
        package let count: Int

        init(column: String, identifiers: [Identifier.Kind], count: Int) {
            self.column = column
            self.identifiers = identifiers
            self.count = count
        }

        package static func < (left: Finding, right: Finding) -> Bool { left.column < right.column }
    }

    /// What of the settings is wrong, where trying again changes nothing.
    package enum Fault: String, Sendable, Hashable, Codable {
        /// The key is refused.
        case key
        /// What was asked is refused: the address, or another setting.
        case settings
    }

    package let code: Code
    /// nil where it may pass by itself.
    package var fault: Fault?
    /// What stands in the way of the delete.
    package var blockers: [Blocker]?
    /// Where identifiers were found.
    package var findings: [Finding]?
    /// The Apple client id, bucket, sealing key id or setting concerned.
    package var subject: String?
    /// More words for an operator.
    package var detail: String?
    /// How long Apple or Storage asked to be left alone; not stored, since the next attempt is put off by it.
    var retryAfter: Duration?
    /// Whether Apple was not asked at all; not stored, since it is about one try.
    var isUnasked = false

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

    /// That something stands in the way of the delete; nil where nothing does.
    static func blocked(by blockers: [Blocker]) -> Situation? {
        blockers.first.map { Situation($0.code, blockers: blockers) }
    }

    /// That nobody decided about buckets with objects of the account; nil where there is none.
    static func undecided(_ buckets: some Collection<String>) -> Situation? {
        buckets.min().map { first in
            Situation(
                .undecidedBucket,
                subject: first,
                detail: buckets.count > 1 ? buckets.sorted().joined(separator: ", ") : nil
            )
        }
    }

    /// That nobody decided about so many files that the account's profile alone names; nil where there is none.
    ///
    /// They are not named: people call them and their folders what they like.
    static func undecided(files count: Int) -> Situation? {
        count > 0 ? Situation(.undecidedFile, subject: AccountObjects.bucketOfProfiles) : nil
    }

    /// So long, or longer where Apple or Storage asked for more.
    func delay(atLeast least: Duration) -> Duration {
        max(least, retryAfter ?? .zero)
    }
}
