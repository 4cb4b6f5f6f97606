import Foundation
import TestSupport

/// A sealing key and a hash key in files, made by the program itself.
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
    static func make() async throws -> TestKeys {
        let folder = try TemporaryFolder("keys").url
        return try await make(in: folder)
    }

    /// Makes both keys in the caller's folder, with which they are removed.
    static func make(in folder: URL) async throws -> TestKeys {
        for name in ["sealing", "hash"] {
            let line = try await AccountctlProcess.run("keys", "new", name).output
            try SecretFile.write(line, to: folder.appendingPathComponent(name))
        }
        return TestKeys(folder: folder)
    }

    func remove() { try? FileManager.default.removeItem(at: folder) }
}
