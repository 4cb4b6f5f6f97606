import ObjectStorage
import Postgres

/// An object in Storage, by bucket and key; in a bucket that keeps versions, one version of it.
struct StoredObject: Sendable, Hashable, Comparable {
    /// The role of an object under its key.
    enum Place: String, Sendable, Hashable, PostgresDecodable {
        /// Replaced, or deleted by a user: only a call that names the version finds it.
        case archived
        /// The object that the key names.
        case current
        /// A delete marker: the key names nothing, since a user deleted what it named.
        case mark

        /// The order in which the objects of a key are deleted: archived ones first, since Storage replaces a deleted
        /// version by the newest that is left.
        fileprivate var turn: Int {
            switch self {
            case .archived: 0
            case .current: 1
            case .mark: 2
            }
        }
    }

    /// The version, which distinguishes an object from others with the same key.
    enum Version: Sendable, Hashable {
        /// Its bucket keeps no versions, so there are no others.
        case only
        /// Its bucket keeps versions, each with an id.
        case kept(String)
        /// Its bucket keeps versions, but the object has none, as uploads of Storage's first years: no call names it,
        /// and one that names its key would hide it.
        case missing

        /// The id, if it has one.
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

    /// The name for a delete call to Storage; nil if no call can name the object.
    var target: StorageTarget? { version == .missing ? nil : StorageTarget(key, version: version.id) }

    /// Compares bytes, as the server does: Swift takes two spellings of one accented letter for equal.
    static func == (left: StoredObject, right: StoredObject) -> Bool {
        left.key.utf8.elementsEqual(right.key.utf8) && left.bucket.utf8.elementsEqual(right.bucket.utf8)
            && left.version == right.version && left.place == right.place
    }

    /// The objects of a key stay together, for most keys in one call.
    static func < (left: StoredObject, right: StoredObject) -> Bool {
        (left.bucket, left.key, left.place.turn, left.version.id ?? "")
            < (right.bucket, right.key, right.place.turn, right.version.id ?? "")
    }
}
