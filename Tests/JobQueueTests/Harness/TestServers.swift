import Foundation
import TestSupport

/// A streaming replica of a test's cluster.
enum Standby {
    /// Runs a standby, with these additional settings, for the duration of a closure.
    static func with(
        of primary: TestCluster,
        settings: [String] = [],
        _ body: @Sendable (TestCluster) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder("standby")
        let port = try Socket.freePort()
        try FileManager.default.createDirectory(atPath: folder.path + "/socket", withIntermediateDirectories: true)
        try "\(port)\n".write(toFile: folder.path + "/port", atomically: true, encoding: .utf8)
        try await folder.giveToServerUser()
        let data = folder.path + "/data"
        let bin = try await TestCluster.command(["pg_config", "--bindir"])
        try await TestCluster.command(
            ServerUser.words([
                "pg_basebackup", "-D", data, "-R", "-c", "fast", "-h", primary.socket, "-p", "\(primary.port)", "-U",
                "supabase_admin",
            ])
        )
        try await TestCluster.command(
            ServerUser.words([
                bin + "/pg_ctl", "-D", data, "-l", folder.path + "/log", "-w", "-s", "-o",
                (["-p \(port) -k \(folder.path)/socket"] + settings.map { "-c \($0)" }).joined(separator: " "), "start",
            ])
        )
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(TestCluster(folder: folder.path)))
        } catch {
            result = .failure(error)
        }
        _ = try? await TestCluster.command(
            ServerUser.words([bin + "/pg_ctl", "-D", data, "-w", "-s", "-m", "immediate", "stop"])
        )
        folder.remove()
        try result.get()
    }
}
