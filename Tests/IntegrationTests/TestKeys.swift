import Foundation

/// A sealing key and a hash key in files, made by the program itself.
struct TestKeys {
    private let folder: URL

    /// The variables by which the program finds them.
    var variables: [String: String] {
        [
            "ACCOUNTCTL_KEYS_SEALING_FILE": folder.appendingPathComponent("sealing").path,
            "ACCOUNTCTL_KEYS_HASH_FILE": folder.appendingPathComponent("hash").path,
        ]
    }

    /// Makes both; whoever made them removes them.
    static func make() async throws -> TestKeys {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("keys-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for name in ["sealing", "hash"] {
            _ = FileManager.default.createFile(
                atPath: folder.appendingPathComponent(name).path,
                contents: Data(try await AccountctlProcess.run("keys", "new", name).output.utf8),
                attributes: [.posixPermissions: 0o600]
            )
        }
        return TestKeys(folder: folder)
    }

    func remove() { try? FileManager.default.removeItem(at: folder) }
}
