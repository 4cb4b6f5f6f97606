import Foundation
import TestSupport
import Testing

@Suite("The scripts in deploy", .timeLimit(.minutes(5)))
struct DeployScriptTests {
    /// The server's programs run as another user, who does not start in the current folder, and psql takes a relative
    /// path for the name of a host.
    @Test(
        "take a cluster's folder as it is seen from the current one",
        arguments: [(["private-postgres", "stop"], "data"), (["pgtap"], "socket")]
    )
    func relativeFolder(_ words: [String], _ part: String) async throws {
        let files = FileManager.default
        // Not in the cluster's folder: in a container, memory is often mounted without the right to run programs.
        let folder = files.temporaryDirectory
            .appendingPathComponent("scripts-\(UUID().uuidString.prefix(8).lowercased())").path
        defer { try? files.removeItem(atPath: folder) }
        for made in ["bin", "cluster/data"] {
            try files.createDirectory(atPath: "\(folder)/\(made)", withIntermediateDirectories: true)
        }
        for (name, text) in [("port", "1"), ("data/postmaster.pid", "1")] {
            try text.write(toFile: "\(folder)/cluster/\(name)", atomically: true, encoding: .utf8)
        }
        // In place of the programs that the scripts call: prints with which arguments, and ends the script.
        for name in ["initdb", "pg_ctl", "psql"] {
            let path = "\(folder)/bin/\(name)"
            try "#!/bin/sh\necho \"$@\"\nexit 1\n".write(toFile: path, atomically: true, encoding: .utf8)
            try files.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        let script = [Repository.path("deploy/\(words[0])")] + words.dropFirst()
        let called = try await TestCluster.command(
            ["sh", "-c", "cd \"$0\" && { \"$@\" cluster || true; }", folder] + script,
            // With CDPATH, as some shells export it, cd prints a path of its own.
            environment: [
                "ACCOUNTCTL_POSTGRES_BIN": "\(folder)/bin", "PATH": "\(folder)/bin:\(path)", "CDPATH": folder,
            ]
        )
        #expect(called.contains(" \(folder)/cluster/\(part) "), "\(called)")
    }
}
