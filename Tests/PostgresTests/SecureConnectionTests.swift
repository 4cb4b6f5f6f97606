import Foundation
import LibPQ
import Synchronization
import TestSupport
import Testing

@testable import Postgres

/// TLS, and passwords given as parameters, in URIs and in files, all against one server.
@Suite(.timeLimit(.minutes(5))) struct SecureConnectionTests {
    @Test func passwordsAndCertificatesAreChecked() async throws {
        try await TestCertificate.with { certificate in
            let settings = ["ssl=on", "ssl_cert_file=\(certificate.certificate)", "ssl_key_file=\(certificate.key)"]
            try await TestCluster.with(settings: settings) { cluster in
                try await cluster.psql("create role anna login password 'her secret'")
                try "hostssl all anna 127.0.0.1/32 scram-sha-256\nlocal all all trust\n"
                    .write(toFile: cluster.folder + "/data/pg_hba.conf", atomically: false, encoding: .utf8)
                try await cluster.psql("select pg_reload_conf()")
                let base = "host=localhost hostaddr=127.0.0.1 port=\(cluster.port) user=anna dbname=postgres"
                let verified = "\(base) sslmode=verify-full sslrootcert=\(certificate.certificate)"

                try await passwords(base, verified, cluster)
                try await changedPassword(verified, cluster)
                try await cluster.psql("alter role anna password 'her secret'")
                try await verification(base, certificate.certificate)

                let wrongName = verified.replacingOccurrences(of: "host=localhost", with: "host=db.example.com")
                let error = try await PostgresError.expected { try await user(wrongName, password: "her secret") }
                #expect(error.code == .connectionFailed && error.description.contains("db.example.com"))
            }
        }
    }

    /// On a machine that others use too, the private cluster of the demo and the tests lets nobody else in.
    @Test func aPrivateClusterTakesNobodyElse() async throws {
        let cluster = try TestCluster.shared()
        let attributes = try FileManager.default.attributesOfItem(atPath: cluster.socket)
        #expect(attributes[.posixPermissions] as? Int == 0o700)
        for user in ["postgres", "supabase_admin"] {
            let conninfo = "host=127.0.0.1 port=\(cluster.port) user=\(user) dbname=postgres"
            let error = try await PostgresError.expected { _ = try await self.user(conninfo) }
            #expect(error.code == .connectionFailed && error.reason?.contains("no password") == true, "\(error)")
        }
        #expect(try await user(cluster.conninfo(database: "postgres", port: cluster.port)).hasPrefix("postgres"))
    }

    private func passwords(_ base: String, _ verified: String, _ cluster: TestCluster) async throws {
        #expect(try await user(verified, password: "her secret") == "anna TLS")
        let file = cluster.folder + "/passfile"
        try "localhost:\(cluster.port):*:anna:her secret\n".write(toFile: file, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        #expect(try await user("\(verified) passfile=\(file)") == "anna TLS")
        let uri = "postgresql://anna:her%20secret@localhost:\(cluster.port)/postgres?hostaddr=127.0.0.1&sslmode=require"
        #expect(try await user(uri) == "anna TLS")

        let wrong = try await PostgresError.expected { try await user(verified, password: "a guess") }
        #expect(wrong.code == .connectionFailed && wrong.sqlState == .invalidPassword && !wrong.isTransient)
        #expect(!wrong.debugDescription.contains("a guess"))
        // The server accepts anna over TLS only.
        let plain = try await PostgresError.expected {
            try await user("\(base) sslmode=disable", password: "her secret")
        }
        #expect(plain.sqlState == .invalidAuthorization)
    }

    /// With a root certificate, libpq verifies the server in every mode.
    private func verification(_ base: String, _ certificate: String) async throws {
        for (mode, isVerified) in [
            ("require sslrootcert=/nonexistent", false), ("require sslrootcert=\(certificate)", true),
            ("verify-full sslrootcert=\(certificate)", true),
        ] {
            var configuration = ConnectionConfiguration(conninfo: "\(base) sslmode=\(mode)")
            configuration.password = { "her secret" }
            let found = try await Connection.with(configuration, logger: .silent) { $0.handle?.verifiesServer }
            #expect(found == isVerified, "sslmode=\(mode)")
        }
    }

    /// A pool that was made before a password changed goes on with the new one.
    private func changedPassword(_ conninfo: String, _ cluster: TestCluster) async throws {
        let password = Mutex("her secret")
        var configuration = ConnectionConfiguration(conninfo: conninfo)
        configuration.password = { @Sendable in password.withLock { $0 } }
        try await Pool.withPool(PoolConfiguration(connection: configuration), logger: .silent) { pool in
            let first = try await pool.withConnection { $0.backendPID }
            try await cluster.psql("alter role anna password 'another'; select pg_terminate_backend(\(first))")
            password.withLock { $0 = "another" }
            try await eventually("the connection is lost") { pool.counts.idle == 0 }
            #expect(try await pool.withConnection { $0.backendPID } != first)
        }
    }

    private func user(_ conninfo: String, password: String? = nil) async throws -> String {
        var configuration = ConnectionConfiguration(conninfo: conninfo)
        configuration.password = { password }
        return try await Connection.with(configuration, logger: .silent) { connection in
            try connection.one(
                "select current_user || case when ssl then ' TLS' else '' end from pg_stat_ssl where pid = pg_backend_pid()",
                as: String.self
            )
        }
    }

    @Test func aServerWithoutTLSIsRefusedWhereTLSIsAskedFor() async throws {
        try await TestDatabase.with(.empty) { database in
            let conninfo = database.conninfo(port: database.cluster.port) + " sslmode=require"
            let error = try await PostgresError.expected {
                try await Connection.with(ConnectionConfiguration(conninfo: conninfo), logger: .silent) { _ in }
            }
            #expect(error.code == .tlsRequired && !error.isTransient)
        }
    }
}
