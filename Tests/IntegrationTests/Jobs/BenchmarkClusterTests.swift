import Foundation
import TestSupport
import Testing

@Suite struct BenchmarkClusterTests {
    @Test("A measurement that is killed leaves no server behind", .timeLimit(.minutes(5)))
    func cutOff() async throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("cut-\(UUID().uuidString.prefix(8).lowercased())")
        // The server's own user has to be able to enter the folder.
        try FileManager.default.createDirectory(
            at: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o711]
        )
        defer { try? FileManager.default.removeItem(at: folder) }
        func clusters() throws -> [URL] {
            try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
                .filter { $0.lastPathComponent.hasPrefix("accountctl-benchmark-") }
        }
        let measurement = try AccountctlProcess(
            ["run", "driver.roundtrip"],
            environment: [
                "TMPDIR": folder.path, "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin",
            ],
            program: URL(fileURLWithPath: AccountctlProcess.path).deletingLastPathComponent().path + "/Benchmarks"
        )
        // The last file that a cluster gets when it starts.
        while measurement.isRunning, try !clusters().contains(where: { Self.isThere($0, "tcp.passfile") }) {
            try await Task.sleep(for: .milliseconds(20))
        }
        #expect(try clusters().count == 1, "\(measurement.errorsSoFar)")
        measurement.signal(SIGKILL)
        _ = try await measurement.result()
        // The folder is removed once the server has stopped.
        try await eventually("the folder goes", within: .seconds(60)) { try clusters().isEmpty }
    }

    private static func isThere(_ folder: URL, _ name: String) -> Bool {
        FileManager.default.fileExists(atPath: folder.appendingPathComponent(name).path)
    }
}
