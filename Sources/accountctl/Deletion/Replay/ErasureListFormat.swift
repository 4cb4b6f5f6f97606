import AccountLifecycle
import Postgres
import Sealing
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The format of a list of erasures: a head line, a line per request, and an end line that shows the list is complete
/// and unchanged.
enum ErasureListFormat {
    /// The version of the format that is written and read.
    static let version = 1

    /// The names of a line's fields.
    enum Field: String, CodingKey {
        case version = "erasures"
        case database, timeline, at, since, canary
        case request, state, subject
        case hashKey = "hash_key"
        case requestedAt = "requested_at"
        case runAfter = "run_after"
        case finishedAt = "finished_at"
        case legalDeadline = "legal_deadline"
        case receipt, paused, held
        case end, seal
    }

    /// The head line.
    static func head(
        of database: DatabaseIdentity,
        timeline: Int,
        at moment: Date,
        since: Date?,
        key: HashKey
    ) -> String {
        line([
            .version: .integer(version), .database: .text(database.description), .timeline: .integer(timeline),
            .at: .date(moment),
            .since: .date(since), .hashKey: .text(key.id.text), .canary: .text(Self.canary(of: key)),
        ])
    }

    /// The line for a request.
    static func line(of listed: ListedErasure) -> String {
        line([
            .request: .uuid(listed.request), .state: .text(listed.state.rawValue),
            .subject: .text(listed.subject.hexadecimal), .hashKey: .text(listed.subject.keyID),
            .requestedAt: .date(listed.requestedAt), .runAfter: .date(listed.runAfter),
            .finishedAt: .date(listed.finishedAt), .legalDeadline: .date(listed.legalDeadline),
            .receipt: .integer(listed.receipt), .paused: .bool(listed.isPaused), .held: .bool(listed.isHeld),
        ])
    }

    /// The end line, without which a list that was truncated or rewritten could not be told from a complete, unchanged
    /// one.
    static func end(_ count: Int, sealed seal: RunningHash) -> String {
        line([.end: .integer(count), .seal: .text(seal.bytes.hexadecimal)])
    }

    /// Begins the seal of a list: a keyed hash over all lines but the last, each with its newline.
    static func seal(with key: HashKey) -> RunningHash { key.hashing(purpose: "erasure-list") }

    /// The canary, which distinguishes this key from another one of the same name.
    static func canary(of key: HashKey) -> String { key.canary().hexadecimal }

    private static func line(_ values: [Field: OutputValue]) -> String {
        JSONText.line(.object(Dictionary(uniqueKeysWithValues: values.map { ($0.rawValue, $1) }))) + "\n"
    }
}
