/// The pretended Storage, from the side that only its operators have.
package final class StorageSandbox: Sendable {
    /// The base of the API: the sandbox's address and `/storage/v1`.
    package let url: String

    /// The keys of the pretended project.
    package let keys: StorageKeys

    private let files: FileStore?

    init(url: String, keys: StorageKeys, files: FileStore?) {
        self.url = url
        self.keys = keys
        self.files = files
    }

    /// The files that lie in a bucket, as paths below its folder: `key/version`.
    package func files(bucket: String) -> [String] {
        files?.files(bucket: bucket) ?? []
    }

    /// Puts a file where an upload would, without its row; for set-ups that write many rows at once.
    ///
    /// - Throws: the file system's error.
    package func place(_ bytes: [UInt8], bucket: String, key: String, version: String) throws {
        try files?.write(bytes, bucket: bucket, key: key, version: version)
    }

    /// Puts the backend that holds the bytes out of order, or in order again: rows stay while bytes cannot be removed.
    package func breakFiles(_ isBroken: Bool = true) {
        files?.setBroken(isBroken)
    }
}
