/// The purpose of a request to Storage, determined from its method and its path under `/storage/v1`.
enum StorageRoute: Equatable, Sendable {
    case buckets
    case bucket(String)
    case list(bucket: String)
    case listRecursively(bucket: String)
    case deleteMany(bucket: String)
    case deleteOne(bucket: String, key: String)
    case upload(bucket: String, key: String, replaces: Bool)
    case download(bucket: String, key: String)
    case downloadPublic(bucket: String, key: String)
    case unknown

    /// Parses the path as sent: a key may contain slashes, empty segments and escapes, and keeps them.
    init(method: String, path: Substring) {
        let words = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        let bucket = { (index: Int) -> String? in
            guard words.count > index else { return nil }
            return PercentCoding.decode(words[index].utf8).flatMap { $0.isEmpty ? nil : $0 }
        }
        let key = { (index: Int) -> String? in
            guard words.count > index else { return nil }
            return PercentCoding.decode(words[index...].joined(separator: "/").utf8).flatMap { $0.isEmpty ? nil : $0 }
        }
        self = .unknown
        switch (method, words.first, words.dropFirst().first) {
        case ("GET", "bucket", nil), ("GET", "bucket", ""): self = .buckets
        case ("GET", "bucket", _): if words.count == 2, let bucket = bucket(1) { self = .bucket(bucket) }
        case ("POST", "object", "list"): if words.count == 3, let bucket = bucket(2) { self = .list(bucket: bucket) }
        case ("POST", "object", "list-v2"):
            if words.count == 3, let bucket = bucket(2) { self = .listRecursively(bucket: bucket) }
        case ("GET", "object", "public"):
            if let bucket = bucket(2), let key = key(3) { self = .downloadPublic(bucket: bucket, key: key) }
        case ("GET", "object", "authenticated"):
            if let bucket = bucket(2), let key = key(3) { self = .download(bucket: bucket, key: key) }
        case ("GET", "object", _):
            if let bucket = bucket(1), let key = key(2) { self = .download(bucket: bucket, key: key) }
        case ("DELETE", "object", _):
            guard let bucket = bucket(1) else { return }
            self = key(2).map { .deleteOne(bucket: bucket, key: $0) } ?? .deleteMany(bucket: bucket)
        case ("POST", "object", _), ("PUT", "object", _):
            if let bucket = bucket(1), let key = key(2) {
                self = .upload(bucket: bucket, key: key, replaces: method == "PUT")
            }
        default: break
        }
    }

    /// The bucket that the request is about.
    var bucket: String? {
        switch self {
        case .buckets, .unknown: nil
        case .bucket(let bucket), .list(let bucket), .listRecursively(let bucket), .deleteMany(let bucket),
            .deleteOne(let bucket, _), .upload(let bucket, _, _), .download(let bucket, _),
            .downloadPublic(let bucket, _):
            bucket
        }
    }

    /// The name of the route for faults and the journal.
    var endpoint: Endpoint? {
        switch self {
        case .buckets, .bucket: .storageBuckets
        case .list: .storageList
        case .listRecursively: .storageListRecursively
        case .deleteMany: .storageDeleteMany
        case .deleteOne: .storageDeleteOne
        case .upload: .storageUpload
        case .download, .downloadPublic: .storageDownload
        case .unknown: nil
        }
    }

    /// The operation that the server announces to the database, which policies can read by storage.operation().
    var operation: String {
        switch self {
        case .buckets: "storage.bucket.list"
        case .bucket: "storage.bucket.get"
        case .list: "storage.object.list"
        case .listRecursively: "storage.object.list_v2"
        case .deleteMany: "storage.object.delete_many"
        case .deleteOne: "storage.object.delete"
        case .upload(_, _, let replaces): replaces ? "storage.object.upload_update" : "storage.object.upload"
        case .download: "storage.object.get_authenticated"
        case .downloadPublic: "storage.object.get_public"
        case .unknown: ""
        }
    }
}
