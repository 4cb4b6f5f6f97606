import Foundation
import Sealing
import TestSupport

/// A sealing key and a hash key in files.
struct TestKeys {
    private let folder: URL

    /// The variables by which the program finds the keys.
    var variables: [String: String] {
        [
            "ACCOUNTCTL_KEYS_SEALING_FILE": folder.appendingPathComponent("sealing").path,
            "ACCOUNTCTL_KEYS_HASH_FILE": folder.appendingPathComponent("hash").path,
        ]
    }

    /// Makes both keys in a folder of their own; the caller has to remove them.
    static func make() throws -> TestKeys {
        try make(in: try TemporaryFolder("keys").url)
    }

    /// Makes both keys in the caller's folder, with which they are removed.
    static func make(in folder: URL) throws -> TestKeys {
        for name in ["sealing", "hash"] {
            try SecretFile.write(try line(name), to: folder.appendingPathComponent(name))
        }
        return TestKeys(folder: folder)
    }

    /// The text of a file with a new key of this name, as `keys new` prints it.
    static func line(_ name: String) throws -> String {
        guard let id = KeyID(name) else { throw TestSupportError("no name of a key: \(name)") }
        return SealingKey.random(id: id).fileLine.reveal() + "\n"
    }

    func remove() { try? FileManager.default.removeItem(at: folder) }
}
