import Crypto
import Foundation
import TestSupport
import Testing

/// The client ids of submitted codes and held credentials, compared with the configured client ids.
@Suite("The doctor reports on client ids:", .timeLimit(.minutes(5)))
struct DoctorClientTests {
    @Test("credentials of a client id that is not configured any more")
    func unconfigured() async throws {
        try await DoctorStage.with { deployment in
            let apple = [
                "ACCOUNTCTL_APPLE_TEAM_ID": "A1B2C3D4E5", "ACCOUNTCTL_APPLE_KEY_ID": "F6G7H8I9J0",
                "ACCOUNTCTL_APPLE_CLIENT_IDS": "com.example.app",
                "ACCOUNTCTL_APPLE_PRIVATE_KEY_FILE": try deployment.file(
                    "key.p8",
                    P256.Signing.PrivateKey().pemRepresentation
                ),
            ]
            try await deployment.database.psql(
                """
                insert into auth.users (id) values (md5('person')::uuid);
                insert into accountctl.apple_credentials (user_id, client_id, apple_sub, sealed_token, sealing_key_id)
                select md5('person')::uuid, client, '001234.5678.0123', 'sealed', 'key'
                from unnest(array['com.example.app', 'com.example.old']) as client
                """
            )
            #expect(
                try await deployment.find("apple.unconfigured", "error", apple)
                    == "1 credential is held of com.example.old, which is not configured here"
            )
            let both = apple.merging(["ACCOUNTCTL_APPLE_CLIENT_IDS": "com.example.app, com.example.old"]) { $1 }
            for sound in [both, [:]] {
                #expect(
                    try await !deployment.examine(sound).findings.contains { $0.code == "apple.unconfigured" }
                )
            }
        }
    }

    @Test("codes without a client id, which belong to the only configured one, or to none of several")
    func namelessCodes() async throws {
        try await DoctorStage.with { deployment in
            let key = try deployment.file("key.p8", P256.Signing.PrivateKey().pemRepresentation)
            func codes(configured: String) async throws -> [String] {
                let apple = [
                    "ACCOUNTCTL_APPLE_TEAM_ID": "A1B2C3D4E5", "ACCOUNTCTL_APPLE_KEY_ID": "F6G7H8I9J0",
                    "ACCOUNTCTL_APPLE_CLIENT_IDS": configured, "ACCOUNTCTL_APPLE_PRIVATE_KEY_FILE": key,
                ]
                return try await deployment.examine(apple).findings.filter { $0.code == "apple.codes" }.map(\.what)
            }
            try await deployment.database.psql(
                """
                insert into auth.users (id) select md5('person ' || n)::uuid from generate_series(1, 3) as n;
                insert into accountctl.authorization_codes (user_id, state, settled_at)
                select id, 'expired', now() from auth.users where id <> md5('person 3')::uuid
                """
            )
            let both = "com.example.app, com.example.web"
            #expect(try await codes(configured: both) == [])
            try await deployment.database.psql(
                """
                insert into accountctl.authorization_codes (user_id, state, settled_at)
                select id, 'refused', now() from auth.users
                """
            )
            #expect(
                try await codes(configured: both)
                    == ["the app submits codes without a client id, and several are configured here"]
            )
            #expect(
                try await codes(configured: "com.example.app")
                    == ["Apple refused all 3 codes that 3 accounts submitted for com.example.app"]
            )
        }
    }
}
