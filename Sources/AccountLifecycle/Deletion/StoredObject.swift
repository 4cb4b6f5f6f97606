/// An object in Storage, by bucket and key.
struct StoredObject: Sendable, Hashable, Comparable {
    let bucket: String
    /// The key exactly as stored: keys are case-sensitive.
    let key: String

    init(bucket: String, key: String) {
        self.bucket = bucket
        self.key = key
    }

    static func < (left: StoredObject, right: StoredObject) -> Bool {
        (left.bucket, left.key) < (right.bucket, right.key)
    }
}
