import Crypto
import Foundation
import Testing

/// An archive of `user export`, unpacked.
struct ExportedArchive {
    let folder: URL

    /// The manifest of an archive, which lists its tables and files.
    struct Manifest: Decodable {
        struct Entry: Decodable {
            let table: String?
            let key: String?
            let file: String?
            let bytes: Int?
            let sha256: String?
            let leftOut: [String]?
        }
        let account: UUID
        let tables: [Entry]
        let files: [Entry]
    }

    /// Unpacks the archive at `path` into the folder of a stage.
    init(_ path: String, unpackedIn stage: OperatorStage) throws {
        folder = URL(fileURLWithPath: stage.path("unpacked"))
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let tar = Process()
        tar.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        tar.arguments = ["tar", "-xf", path, "-C", folder.path]
        try tar.run()
        tar.waitUntilExit()
        #expect(tar.terminationStatus == 0)
    }

    /// The rows of a table.
    func rows(_ table: String) throws -> [[String: Any]] {
        let file = try #require(try manifest().tables.first { $0.table == table }?.file)
        let data = try Data(contentsOf: folder.appendingPathComponent(file))
        return try #require(JSONSerialization.jsonObject(with: data) as? [[String: Any]])
    }

    func manifest() throws -> Manifest {
        let data = try Data(contentsOf: folder.appendingPathComponent("manifest.json"))
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(Manifest.self, from: data)
    }

    /// Compares the entries of the manifest with the bytes of the archive.
    func checkSums() throws -> [Manifest.Entry] {
        let manifest = try self.manifest()
        let entries = (manifest.tables + manifest.files).filter { $0.file != nil }
        for entry in entries {
            let bytes = try Data(contentsOf: folder.appendingPathComponent(try #require(entry.file)))
            #expect(entry.bytes == bytes.count)
            #expect(entry.sha256 == SHA256.hash(data: bytes).map { String(format: "%02x", $0) }.joined())
        }
        return entries
    }
}
