package import Foundation

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A folder that a test removes.
package struct TemporaryFolder: Sendable {
    package let url: URL

    package var path: String { url.path }

    /// Makes one whose name says what it is for.
    package init(_ purpose: String) throws {
        url = FileManager.default.temporaryDirectory
            .appendingPathComponent("accountctl-\(purpose)-\(UUID().uuidString.prefix(8).lowercased())")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    /// Gives it, with all that is in it, to the user that servers run as.
    package func giveToServerUser() async throws {
        if geteuid() == 0 { try await TestCluster.command(["chown", "-R", "postgres", path]) }
    }

    package func remove() {
        try? FileManager.default.removeItem(at: url)
    }
}
