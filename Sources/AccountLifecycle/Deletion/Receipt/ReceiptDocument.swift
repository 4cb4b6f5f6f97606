import Postgres

package import Sealing

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The evidence of one erasure: what was done and when, what was searched and what was not; it contains nothing of what
/// was erased.
package struct ReceiptDocument: Sendable, Hashable, Codable {
    /// The record of one step.
    package struct Step: Sendable, Hashable, Codable {
        package let step: String
        package let outcome: String
        package let runs: Int
        let startedAt: Date
        package let finishedAt: Date
        package let facts: StepFacts
    }

    /// The version of this document's format.
    let version: Int
    package let request: UUID
    /// The keyed hash of the user id in hexadecimal, and the key's name.
    package let subject: String
    package let subjectKey: String
    package let origin: String
    package let requestedAt: Date
    package let lockedOutAt: Date
    package let finishedAt: Date
    package let legalDeadline: Date
    /// Revoked, not held, pending, not revoked or unknown.
    package let apple: String
    package let steps: [Step]
    /// The data that an erasure by this program does not cover.
    package let outOfScope: [String]

    /// The data that no deletion through the live database can reach.
    private static let limits = [
        "backups and point-in-time recovery, until they expire",
        "replicas, until they have caught up; dead rows, until vacuum",
        "the planner's statistics, which keep some values of each column, addresses among them, until the next analyze",
        "copies of deleted files in caches in front of Storage and in browsers, until these drop them",
        "large objects (pg_largeobject)",
        "the database's own definitions: comments, functions, views, policies, default values",
        "data that was written, or moved from one table to another, during or after the last search",
        "addresses, numbers and provider ids that the account gave up before its deletion was requested, or gained after that and gave up again before they were collected anew",
        "phone numbers and provider ids of fewer than eight characters, which resemble other words and numbers",
        "addresses and provider ids that are joined to other words, and so look like longer ones",
        "phone numbers that are written with spaces or dashes between their digits, or without their country code",
        "columns of numbers, except numbers of ten digits and more in columns of bigint, numeric and arrays of these",
        "range columns",
        "data that is encoded, hashed or encrypted, such as the id in a stored access token, or an address in a picture's link",
        "rows that no foreign key ties to the account and that contain none of its addresses, numbers and ids, such as only a name",
        "bytes of unfinished uploads, which the Storage backend may or may not clear away",
        "logs of the server and of services in front of it",
        "data that the app sent to others",
    ]

    /// In how many places the last search found that files of other accounts name this one.
    private static func ofOthers(by steps: [Step]) -> [String] {
        guard let count = steps.last(where: { $0.facts.counts?["others_files"] != nil })?.facts.counts?["others_files"]
        else { return [] }
        return ["mentions of this account in the names of files that other accounts own: \(count)"]
    }

    /// How many files without an owner stayed that the account's profile named.
    private static func shared(by steps: [Step]) -> [String] {
        guard let count = steps.last(where: { $0.step == DeletionStep.deleteAvatars.rawValue })?.facts.counts?["shared"]
        else { return [] }
        return [
            "ownerless files that the account's profile named and that stayed, since another account names them, they are "
                + "older than the account, or no setting says whose they are: \(count)"
        ]
    }

    /// The step that made the last search.
    private static func lastSearch(of steps: [Step]) -> Step? {
        let searches = [DeletionStep.verify, .settle].map(\.rawValue)
        return steps.last { searches.contains($0.step) }
    }

    /// The identifiers that the last search did not cover, and those that it found and left.
    private static func unproven(by steps: [Step]) -> [String] {
        guard let search = lastSearch(of: steps) else { return [] }
        var unproven: [String] = []
        if search.outcome == StepOutcome.notVerifiable.rawValue {
            // The user id is one of the identifiers.
            let isMoreSought = (search.facts.counts?["identifiers"] ?? 0) > 1
            unproven.append(
                "addresses, numbers and provider ids not known any more: only the user id was searched for"
                    + (isMoreSought ? ", and what the account showed last" : "")
            )
        }
        if let accepted = search.facts.accepted {
            let columns = accepted.map(\.column).joined(separator: ", ")
            unproven.append("identifiers that were found in \(columns), and were accepted there")
        }
        return unproven
    }

    /// The coverage of the last search, and whether something stayed.
    package var proof: ErasureProof? {
        Self.lastSearch(of: steps).flatMap { ErasureProof($0.outcome, leaving: $0.facts.accepted != nil) }
    }

    /// The buckets that may keep objects, as the last search counted them.
    private static func kept(by steps: [Step]) -> [String] {
        let last = steps.last { $0.facts.kept != nil }
        return (last?.facts.kept ?? [:]).sorted { $0.key < $1.key }.map { bucket, count in
            "the bucket \(bucket), which is kept and was not searched; objects and unfinished uploads of the account that were "
                + "left there: \(count)"
        }
    }

    /// The data about the person that this program itself keeps: credentials that Apple has not revoked yet.
    private static func kept(credentials count: Int, until day: String?) -> [String] {
        guard let day else { return [] }
        return [
            "credentials that Apple has not revoked yet: \(count), kept sealed, each with the sealed id that Apple has for the "
                + "person, until Apple revokes them; tried until \(day), and for longer where deletions are paused then"
        ]
    }

    /// Collects the evidence from what was recorded.
    static func read(_ request: UUID, subject: SubjectHash, on connection: isolated Connection) throws
        -> ReceiptDocument
    {
        // In one statement, so that a credential revoked meanwhile is reported as pending and kept, or as neither.
        let (origin, requestedAt, lockedOutAt, deadline, apple, now, waiting, day) = try connection.one(
            """
            select
                origin, requested_at, locked_out_at, legal_deadline, coalesce(apple_outcome, 'not_held'), clock_timestamp(),
                late.waiting, to_char(late.until at time zone 'UTC', 'YYYY-MM-DD')
            from accountctl.deletion_requests
            cross join (
                select count(*), max(give_up_at)
                from accountctl.pending_revocations
                where request_id = \(request) and state = \(PendingRevocationState.waiting.rawValue)
            ) as late (waiting, until)
            where id = \(request)
            """,
            as: (String, Date, Date, Date, String, Date, Int, String?).self
        )
        let steps = try connection.query(
            """
            select step, outcome, runs, started_at, finished_at, coalesce(facts, '{}')
            from accountctl.deletion_steps
            where request_id = \(request) and finished_at is not null
            order by finished_at, step
            """,
            as: (String, String, Int32, Date, Date, JSON<StepFacts>).self
        ).map { step, outcome, runs, startedAt, finishedAt, facts in
            Step(
                step: step,
                outcome: outcome,
                runs: Int(runs),
                startedAt: startedAt.wholeSecond,
                finishedAt: finishedAt.wholeSecond,
                facts: facts.value
            )
        }
        return ReceiptDocument(
            version: 1,
            request: request,
            subject: subject.hexadecimal,
            subjectKey: subject.keyID,
            origin: origin,
            requestedAt: requestedAt.wholeSecond,
            lockedOutAt: lockedOutAt.wholeSecond,
            finishedAt: now.wholeSecond,
            legalDeadline: deadline.wholeSecond,
            apple: apple,
            steps: steps,
            outOfScope: [
                limits, kept(credentials: waiting, until: day), unproven(by: steps), kept(by: steps),
                shared(by: steps), ofOthers(by: steps),
            ].flatMap { $0 }
        )
    }

    /// A keyed hash of the document, by which whoever has the key can tell whether it was rewritten.
    package func seal(with key: HashKey) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        return key.hash(String(decoding: try encoder.encode(self), as: UTF8.self), purpose: "deletion-receipt")
    }
}

extension Date {
    /// The time without fractions of a second, as documents keep it.
    var wholeSecond: Date { Date(timeIntervalSince1970: timeIntervalSince1970.rounded(.down)) }
}
