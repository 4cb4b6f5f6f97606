import ObjectStorage
import Postgres

/// An object in Storage, by bucket and key; in a bucket that keeps versions one version of it.
struct StoredObject: Sendable, Hashable, Comparable {
    /// What an object is to its key.
    enum Place: String, Sendable, Hashable, PostgresDecodable {
        /// It was replaced, or deleted by whoever uploads: only who names the version finds it.
        case archived
        /// It is what the key names.
        case current
        /// It says that the key names nothing: what it named was deleted by whoever uploads.
        case mark

        /// The turn in which what a key has goes: what is archived first, since Storage shows the newest version that is
        /// left in the place of one that went.
        fileprivate var turn: Int {
            switch self {
            case .archived: 0
            case .current: 1
            case .mark: 2
            }
        }
    }

    let bucket: String
    /// The key exactly as stored: keys are case-sensitive.
    let key: String
    /// The version, where the bucket keeps them, as in `StorageTarget`; each has an owner of its own.
    let version: String?
    let place: Place

    init(bucket: String, key: String, version: String? = nil, place: Place = .current) {
        self.bucket = bucket
        self.key = key
        self.version = version
        self.place = place
    }

    init(bucket: String, target: StorageTarget) {
        self.init(bucket: bucket, key: target.key, version: target.version)
    }

    /// Whether no call to Storage names it: it has no version, and its bucket keeps them.
    var isNamedByNoCall: Bool { version?.isEmpty ?? false }

    /// What a call to Storage names that deletes it.
    var target: StorageTarget { StorageTarget(key, version: version) }

    /// What a key has stays together, in one call for most.
    static func < (left: StoredObject, right: StoredObject) -> Bool {
        (left.bucket, left.key, left.place.turn, left.version ?? "")
            < (right.bucket, right.key, right.place.turn, right.version ?? "")
    }
}
