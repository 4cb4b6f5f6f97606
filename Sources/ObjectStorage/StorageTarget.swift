/// What a delete names: an object by its key, or one of the versions that its bucket keeps of it.
package struct StorageTarget: Sendable, Hashable, Comparable {
    /// The key exactly as stored.
    package let key: String
    /// The version that is to go, and no other of its key; nil in a bucket that keeps none.
    ///
    /// In one that does, a delete by key alone removes nothing: it hides what the key names behind a mark.
    package let version: String?

    /// A target.
    package init(_ key: String, version: String? = nil) {
        self.key = key
        self.version = version
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

/// As the API takes it: a key alone is a text, which is all that older servers know.
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
