import TestSupport
import Testing

@testable import Postgres

@Suite struct ConnectionConfigurationTests {
    @Test(arguments: [
        ("postgres://anna:secret@db.example.com/app", "user=anna dbname=app host=db.example.com"),
        ("host=db password='s e c r e t' dbname='my app'", "dbname='my app' host=db"),
        ("host=db sslkey=k sslpassword=secret", "host=db sslkey=k"), ("app", "dbname=app"),
        ("=secret", "(malformed connection string)"),
        ("postgresql://anna:se/cret@db.example.com/app", "(malformed connection string)"),
        ("postgresql://anna:se@cret@db.example.com/app", "(malformed connection string)"),
        ("anna:secret@db.example.com/app", "(malformed connection string)"),
    ])
    func showsNoPassword(conninfo: String, shown: String) {
        let words = Set(ConnectionConfiguration(conninfo: conninfo).description.split(separator: " "))
        #expect(words == Set(shown.split(separator: " ")))
    }

    @Test(arguments: [
        ([:], false), (["host": "/run/postgresql"], false), (["host": "localhost"], false),
        (["host": "127.0.0.1"], false),
        (["host": "db.example.com"], true), (["host": "127.example.com"], true), (["host": "10.0.0.1"], true),
        (["host": "localhost,db.example.com"], true), (["host": "/run,\u{301}db"], true),
        (["host": "db", "sslmode": "prefer"], true),
        (["host": "db", "sslmode": "require"], false), (["host": "db", "sslmode": "verify-full"], false),
        (["host": "db", "sslmode": "disable"], false), (["host": "localhost", "hostaddr": "10.0.0.1"], true),
        (["host": "db.example.com", "hostaddr": "127.0.0.1"], false),
    ])
    func otherMachinesNeedTLS(parameters: [String: String], missing: Bool) {
        #expect(TLSRule.allowsPlaintextToOthers(parameters) == missing)
    }

    @Test(
        arguments: [
            (["host": "db", "sslmode": "require"], true, false, .unverified),
            (["host": "db"], true, false, .unverified),
            // libpq found a root certificate, which it does not tell the place of.
            (["host": "db", "sslmode": "require"], true, true, .verified),
            (["host": "db", "sslmode": "require", "sslrootcert": "/nonexistent"], true, false, .unverified),
            (["host": "db", "sslmode": "verify-full"], true, false, .verified),
            (["host": "db", "sslmode": "verify-ca"], true, false, .verified),
            (["host": "db", "sslmode": "disable"], false, false, .plaintext),
            (["host": "localhost", "sslmode": "require"], true, false, .local), ([:], false, false, .local),
        ] as [([String: String], Bool, Bool, Protection)]
    )
    func theWayToTheServerIsKept(
        parameters: [String: String],
        usesTLS: Bool,
        verifiesServer: Bool,
        protection: Protection
    ) {
        #expect(Protection(parameters, usesTLS: usesTLS, verifiesServer: verifiesServer) == protection)
    }

    @Test func aMalformedStringIsAnErrorThatQuotesNothing() async throws {
        let error = try await PostgresError.expected {
            try await Connection.with(ConnectionConfiguration(conninfo: "host=db passwort=secret"), logger: .silent) {
                _ in
            }
        }
        #expect(error.code == .configuration)
        #expect(!error.description.contains("secret"))
        #expect(error.description.contains("passwort"))
    }

    @Test(arguments: ["host=a.invalid,b.invalid port=1,2,3", "host=a.invalid,b.invalid hostaddr=127.0.0.1"])
    func listsThatDoNotFitTogetherAreAMistake(conninfo: String) async throws {
        let error = try await PostgresError.expected {
            try await Connection.with(ConnectionConfiguration(conninfo: conninfo), logger: .silent) { _ in }
        }
        #expect(error.code == .configuration && !error.isTransient)
    }

    @Test(arguments: ["anna:se/cret@127.0.0.1/app", "anna:se@cret@127.0.0.1/app", "anna:se%cret@127.0.0.1/app"])
    func aPasswordThatIsNotEscapedStaysOutOfTheError(place: String) async throws {
        let error = try await PostgresError.expected {
            try await Connection.with(ConnectionConfiguration(conninfo: "postgresql://" + place), logger: .silent) {
                _ in
            }
        }
        #expect(error.code == .configuration && !error.isTransient)
        #expect(error.description.contains("%40"))
        #expect(!error.debugDescription.contains("cret"))
    }
}
