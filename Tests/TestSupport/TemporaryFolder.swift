package import Foundation

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A temporary folder that its test has to remove.
package struct TemporaryFolder: Sendable {
    package let url: URL

    package var path: String { url.path }

    /// Creates the folder, with its purpose in its name.
    package init(_ purpose: String) throws {
        url = FileManager.default.temporaryDirectory
            .appendingPathComponent("accountctl-\(purpose)-\(UUID().uuidString.prefix(8).lowercased())")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    /// Makes the user that runs the servers own the folder and its content.
    package func giveToServerUser() async throws {
        if geteuid() == 0 { try await TestCluster.command(["chown", "-R", "postgres", path]) }
    }

    package func remove() {
        try? FileManager.default.removeItem(at: url)
    }
}
