import Foundation
import TestSupport
import Testing

@testable import AccountLifecycle

@Suite("Writing an archive")
struct TarWriterTests {
    private func withFile(_ body: (FileHandle, String) async throws -> Void) async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("tar-\(UUID().uuidString)").path
        _ = FileManager.default.createFile(atPath: path, contents: nil)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let file = try #require(FileHandle(forUpdatingAtPath: path))
        defer { try? file.close() }
        try await body(file, path)
    }

    /// Size and name of each entry, as tar lists them.
    private func list(_ path: String) async throws -> [String] {
        try await TestCluster.command(["tar", "-tvf", path]).split(separator: "\n").map { line in
            let words = line.split(separator: " ")
            return "\(words[2]) \(words[words.count - 1])"
        }
    }

    @Test("tar lists exactly the entries that were written")
    func small() async throws {
        try await withFile { file, path in
            var archive = TarWriter(descriptor: file.fileDescriptor, modifiedAt: Date(timeIntervalSince1970: 1))
            for (name, count) in [("none", 0), ("block", 512), ("more", 70_001)] {
                try archive.begin(name)
                try archive.write([UInt8](repeating: 7, count: count))
                let entry = try archive.end()
                #expect(entry.bytes == count)
            }
            try archive.finish()
            #expect(try await list(path) == ["0 none", "512 block", "70001 more"])
        }
    }

    @Test("Sizes are written in octal digits while they fit, and in binary beyond")
    func sizes() {
        func field(_ bytes: Int) -> [UInt8] {
            Array(TarWriter.header("a", bytes: bytes, modifiedAt: 0)[124..<136])
        }
        #expect(field(8) == Array("00000000010\u{0}".utf8))
        #expect(field(0o77_777_777_777) == Array("77777777777\u{0}".utf8))
        #expect(field(0o77_777_777_777 + 1) == [0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0])
        #expect(field(.max) == [0x80, 0, 0, 0, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF])
    }

    @Test("tar reads an entry of more than 8 GiB and the entry after it")
    func large() async throws {
        try await withFile { file, path in
            // The file is sparse: the bytes of the entry are a hole.
            let bytes = 9 << 30
            try file.write(contentsOf: TarWriter.header("large", bytes: bytes, modifiedAt: 1))
            try file.seek(toOffset: UInt64(512 + bytes))
            try file.write(contentsOf: TarWriter.header("behind", bytes: 0, modifiedAt: 1))
            try file.truncate(atOffset: UInt64(512 + bytes + 512 + 1024))
            #expect(try await list(path) == ["\(bytes) large", "0 behind"])
        }
    }
}
