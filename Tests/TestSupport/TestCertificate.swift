/// A self-signed certificate for `localhost` and its key, created by openssl for one test.
package struct TestCertificate: Sendable {
    /// The file of the certificate, which is its own certificate authority.
    package let certificate: String

    /// The file of the key, readable only by the user that runs the servers.
    package let key: String

    /// Creates both files in a temporary folder for the duration of `body`.
    package static func with<Result: Sendable>(
        _ body: @Sendable (TestCertificate) async throws -> Result
    ) async throws -> Result {
        let folder = try TemporaryFolder("tls")
        defer { folder.remove() }
        let made = TestCertificate(certificate: folder.path + "/server.crt", key: folder.path + "/server.key")
        try await TestCluster.command([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
            "2",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", made.key, "-out",
            made.certificate,
        ])
        try await TestCluster.command(["chmod", "600", made.key])
        try await folder.giveToServerUser()
        return try await body(made)
    }
}
