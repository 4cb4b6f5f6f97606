/// An object to delete, named by its key or, in a bucket with versioning, by one version of it.
package struct StorageTarget: Sendable, Hashable, Comparable {
    /// The key exactly as stored.
    package let key: String
    /// The only version of the key to delete; nil in a bucket without versioning.
    ///
    /// In a bucket with versioning, a delete by key alone removes nothing: it hides the object behind a delete marker.
    package let version: String?

    /// A target.
    package init(_ key: String, version: String? = nil) {
        self.key = key
        self.version = version
    }

    /// Compares bytes, as the service does: Swift takes two spellings of one accented letter for equal.
    package static func == (left: StorageTarget, right: StorageTarget) -> Bool {
        left.key.utf8.elementsEqual(right.key.utf8) && left.version == right.version
    }

    package static func < (left: StorageTarget, right: StorageTarget) -> Bool {
        (left.key, left.version ?? "") < (right.key, right.version ?? "")
    }
}

extension StorageTarget: ExpressibleByStringLiteral {
    package init(stringLiteral key: String) {
        self.init(key)
    }
}

/// The form that the API accepts: a key alone is a string, the only form that older servers know.
extension StorageTarget: Encodable {
    private enum CodingKeys: String, CodingKey {
        case path, versionId
    }

    package func encode(to encoder: any Encoder) throws {
        guard let version else {
            var container = encoder.singleValueContainer()
            try container.encode(key)
            return
        }
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(key, forKey: .path)
        try container.encode(version, forKey: .versionId)
    }
}
