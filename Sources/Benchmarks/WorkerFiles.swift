import Sandbox
import Sealing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A folder with the settings of a worker, and the keys that they name.
struct WorkerFiles: Sendable {
    static let clientID = "com.example.app"

    let folder: String

    /// Generates a key.
    static func key(_ name: String) throws -> SealingKey {
        guard let id = KeyID(name) else { throw BenchmarkError("\(name) cannot name a key") }
        return .random(id: id)
    }

    /// Writes a file that only its owner can read, and returns its path.
    func write(_ text: String, to name: String) throws -> String {
        let path = folder + "/" + name
        let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
        guard FileManager.default.createFile(atPath: path, contents: Data(text.utf8), attributes: attributes) else {
            throw BenchmarkError("cannot write \(path)")
        }
        return path
    }

    /// Writes the keys and the settings, which cover the database, the keys, the simulated Apple, and `more`.
    ///
    /// - Returns: the path of the settings.
    func writeSettings(
        database conninfo: String,
        sealing: SealingKey,
        sandbox: Sandbox,
        more: String
    ) throws -> String {
        let developer = sandbox.apple.developerKey
        return try write(
            """
            [database]
            url = "\(conninfo)"

            [keys]
            sealing_file = "\(write(sealing.fileLine.reveal() + "\n", to: "sealing.keys"))"
            hash_file = "\(write(Self.key("hash").fileLine.reveal() + "\n", to: "hash.key"))"

            [apple]
            host = \(sandbox.baseURL)
            team_id = \(developer.teamID)
            key_id = \(developer.keyID)
            private_key_file = "\(write(developer.privateKey, to: "AuthKey.p8"))"
            client_ids = \(Self.clientID)

            \(more)

            """,
            to: "accountctl.conf"
        )
    }
}
