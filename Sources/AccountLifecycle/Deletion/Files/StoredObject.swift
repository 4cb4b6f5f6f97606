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

    /// What tells an object from others of the same key.
    enum Version: Sendable, Hashable {
        /// Its bucket keeps no versions: there are no others.
        case only
        /// Its bucket keeps versions, each with an id.
        case kept(String)
        /// Its bucket keeps versions, and it has none, as what was uploaded in Storage's first years: no call names it, and
        /// one that names its key would hide what is there.
        case missing

        /// The id, where it has one.
        var id: String? {
            if case .kept(let id) = self { id } else { nil }
        }
    }

    let bucket: String
    /// The key exactly as stored: keys are case-sensitive.
    let key: String
    /// Each version has an owner of its own.
    let version: Version
    let place: Place

    init(bucket: String, key: String, version: Version = .only, place: Place = .current) {
        self.bucket = bucket
        self.key = key
        self.version = version
        self.place = place
    }

    init(bucket: String, target: StorageTarget) {
        self.init(bucket: bucket, key: target.key, version: target.version.map(Version.kept) ?? .only)
    }

    /// What a call to Storage names that deletes it; nil where none does.
    var target: StorageTarget? { version == .missing ? nil : StorageTarget(key, version: version.id) }

    /// What a key has stays together, in one call for most.
    static func < (left: StoredObject, right: StoredObject) -> Bool {
        (left.bucket, left.key, left.place.turn, left.version.id ?? "")
            < (right.bucket, right.key, right.place.turn, right.version.id ?? "")
    }
}
