import Foundation

/// A certificate for `localhost` and its key, made by openssl for one test.
package struct TestCertificate: Sendable {
    /// The file of the certificate, which is its own authority.
    package let certificate: String

    /// The file of the key, readable by the server's user alone.
    package let key: String

    /// Makes both in a folder of their own and removes them afterwards.
    package static func with<Result: Sendable>(
        _ body: @Sendable (TestCertificate) async throws -> Result
    ) async throws -> Result {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("accountctl-tls-\(UUID().uuidString.prefix(8).lowercased())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let made = TestCertificate(certificate: folder + "/server.crt", key: folder + "/server.key")
        try await TestCluster.command([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
            "2",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", made.key, "-out",
            made.certificate,
        ])
        try await TestCluster.command(["chmod", "600", made.key])
        if NSUserName() == "root" { try await TestCluster.command(["chown", "-R", "postgres", folder]) }
        return try await body(made)
    }
}
