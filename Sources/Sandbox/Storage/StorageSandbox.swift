/// The simulated Storage, as seen by its operators.
package final class StorageSandbox: Sendable {
    /// The base of the API: the sandbox's address and `/storage/v1`.
    package let url: String

    /// The keys of the simulated project.
    package let keys: StorageKeys

    private let files: FileStore?

    init(url: String, keys: StorageKeys, files: FileStore?) {
        self.url = url
        self.keys = keys
        self.files = files
    }

    /// The files of a bucket, as paths below its folder: `key/version`.
    package func files(bucket: String) -> [String] {
        files?.files(bucket: bucket) ?? []
    }

    /// Writes a file where an upload would, without its row; for set-ups that insert many rows at once.
    ///
    /// - Throws: the file system's error.
    package func place(_ bytes: [UInt8], bucket: String, key: String, version: String) throws {
        try files?.write(bytes, bucket: bucket, key: key, version: version)
    }

    /// Breaks or repairs the backend that holds the bytes: while it is broken, bytes cannot be removed, so rows stay.
    package func breakFiles(_ isBroken: Bool = true) {
        files?.setBroken(isBroken)
    }
}
