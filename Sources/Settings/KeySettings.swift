/// The files of the keys that seal identifiers and credentials, and of the key that hashes user ids in evidence.
package struct KeySettings: Sendable {
    package let sealingKeyFile: String?
    package let hashKeyFile: String?

    init(_ reader: inout SettingsReader) {
        sealingKeyFile = reader.optional(
            "keys.sealing_file",
            .path,
            "The file with the sealing keys, one `id:base64` a line."
        )
        hashKeyFile = reader.optional("keys.hash_file", .path, "The file with the key of the keyed hashes.")
    }
}
