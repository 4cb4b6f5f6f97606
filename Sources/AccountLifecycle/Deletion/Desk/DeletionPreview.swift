package import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The effects of deleting one account, and the obstacles to it; nothing is changed to find out.
package struct DeletionPreview: Sendable {
    /// A table that would lose rows.
    package struct Table: Sendable, Hashable {
        package let table: TableName
        /// Counted up to ``BlockerSearch/countLimit``.
        package let rows: Int
        /// The keys by which the rows are reached.
        package let reachedBy: [String]
    }

    /// The fate of the account's objects in a bucket.
    package enum BucketFate: String, Sendable, Hashable {
        case deleted
        case kept
        /// Nobody decided; the deletion waits for that.
        case undecided
    }

    /// The account's objects in one bucket.
    package struct Bucket: Sendable, Hashable {
        package let name: String
        /// How many objects belong to the account.
        package let objects: Int
        package let fate: BucketFate
        /// How many objects without an owner its profile names that stay, since another account names them, too, or
        /// they are older than the account; nil in a bucket from which profiles name none.
        package let shared: Int?
    }

    package let user: UUID
    package let tables: [Table]
    package private(set) var blockers: [Blocker]
    package let unindexed: [ForeignKey]
    package let triggers: [DeletionCatalog.Trigger]
    /// The questions that should have been tried and were not: see ``BlockerSearch/Answer/unknown(_:)``; all of them,
    /// if something else is in the way.
    package private(set) var untried: [DeletionPlan.Question] = []
    /// The buckets with objects of the account or with shared ones, sorted.
    package let buckets: [Bucket]
    /// How many objects without an owner only its profile names, for which nobody decided whose they are.
    package let undecidedFiles: Int
    /// The Apple client ids for which a credential is held.
    package let clientIDs: [String]
    package let hasAppleIdentity: Bool
    /// How many identifiers of each kind would be searched for.
    package let identifiers: [Identifier.Kind: Int]
    package let isHeld: Bool

    /// Buckets with objects of the account about which nobody decided, sorted.
    var undecidedBuckets: [String] { buckets.filter { $0.fate == .undecided }.map(\.name) }

    /// Everything in the way: what the database refuses, a legal hold, and buckets and files about which nobody
    /// decided.
    package var obstacles: [Blocker] {
        let hold = isHeld ? [Blocker.hold] : []
        let table = TableName.files.description
        let undecided = buckets.filter { $0.fate == .undecided }.map {
            Blocker(table: table, name: $0.name, rows: $0.objects, code: .undecidedBucket)
        }
        let (bucket, files) = (AccountObjects.bucketOfProfiles, undecidedFiles)
        let named = files > 0 ? [Blocker(table: table, name: bucket, rows: files, code: .undecidedFile)] : []
        return blockers + hold + undecided + named
    }

    /// The first obstacle that a run would find before it touches anything; nil if there is none.
    var obstacle: Situation? {
        Situation.blocked(by: blockers) ?? Situation.undecided(undecidedBuckets)
            ?? Situation.undecided(files: undecidedFiles)
    }

    /// Looks at everything; nil if there is no such account.
    ///
    /// With `asksTriggers`, and if nothing else is in the way, triggers are tried by a delete that is rolled back.
    package static func read(
        _ user: UUID,
        policy: DeletionPolicy,
        asksTriggers: Bool,
        on connection: isolated Connection
    ) async throws -> DeletionPreview? {
        let found: (preview: DeletionPreview, plan: DeletionPlan)?
        // Whoever opened a transaction rolls it back.
        if connection.isInTransaction {
            found = try look(at: user, policy: policy, on: connection)
        } else {
            found = try await connection.reading { connection -> (preview: DeletionPreview, plan: DeletionPlan)? in
                try look(at: user, policy: policy, on: connection)
            }
        }
        guard let found else { return nil }
        var preview = found.preview
        guard asksTriggers else { return preview }
        if preview.blockers.isEmpty, !preview.isHeld {
            do {
                switch try await BlockerSearch(found.plan, user: user).askTriggers(on: connection) {
                case .pass: break
                case .refusal(let blocker): preview.blockers = [blocker]
                case .unknown(let questions): preview.untried = questions
                }
            } catch is PlanOvertaken {
                preview.untried = found.plan.questions
            }
        } else {
            preview.untried = found.plan.questions
        }
        // Triggers that run only with files run as Storage's role, so we cannot try them.
        preview.untried += preview.triggers.filter { !found.plan.triggers.contains($0) }.map(
            DeletionPlan.Question.trigger
        )
        return preview
    }

    private static func look(
        at user: UUID,
        policy: DeletionPolicy,
        on connection: isolated Connection
    ) throws -> (preview: DeletionPreview, plan: DeletionPlan)? {
        guard let identifiers = try IdentifierCollection.read(of: user, on: connection) else { return nil }
        let plan = DeletionPlan(try DeletionCatalog.read(on: connection))
        let found =
            try AccountObjects.find(
                of: [user],
                profiles: plan.profiles,
                folders: policy.avatarFolders,
                on: connection
            )[user] ?? .init()
        let going = found.objects.filter { policy.buckets.contains($0.bucket) }
        let withFiles = plan.files.triggers.filter { !$0.isOfStorage && !plan.triggers.contains($0) }
        let preview = DeletionPreview(
            user: user,
            tables: try tables(of: plan, user, going, on: connection),
            blockers: try BlockerSearch(plan, user: user).run(maximumRows: policy.maximumRows, on: connection)
                + plan.files.blockers(ofDeleting: going, maximumRows: policy.maximumRows, on: connection),
            unindexed: plan.unindexed,
            triggers: plan.triggers + (going.isEmpty ? [] : withFiles),
            buckets: buckets(of: found, policy),
            undecidedFiles: found.undecided,
            clientIDs: try AppleCredential.clientIDs(of: user, on: connection),
            hasAppleIdentity: try connection.one(
                "select exists (select from auth.identities where user_id = \(user) and provider = 'apple')",
                as: Bool.self
            ),
            identifiers: Dictionary(
                ([.userID] + identifiers.filter(\.isSearchable).map(\.kind)).map { ($0, 1) },
                uniquingKeysWith: +
            ),
            isHeld: try DeletionBrakes.hasHold(user, on: connection)
        )
        return (preview, plan)
    }

    private static func buckets(of found: AccountObjects.Found, _ policy: DeletionPolicy) -> [Bucket] {
        var counts = Dictionary(found.objects.map { ($0.bucket, 1) }, uniquingKeysWith: +)
        // Listed even if nothing in it is deleted, to show what stays.
        if found.shared > 0 { counts.merge([AccountObjects.bucketOfProfiles: 0]) { own, _ in own } }
        return counts.sorted { $0.key < $1.key }.map { name, count in
            Bucket(
                name: name,
                objects: count,
                fate: policy.fate(of: name),
                shared: name == AccountObjects.bucketOfProfiles ? found.shared : nil
            )
        }
    }
}

extension DeletionPolicy {
    fileprivate func fate(of bucket: String) -> DeletionPreview.BucketFate {
        buckets.contains(bucket) ? .deleted : keptBuckets.contains(bucket) ? .kept : .undecided
    }
}
