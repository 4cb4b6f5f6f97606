import Foundation
import Sandbox
import Testing

/// Which keys go where, and what is answered to the wrong ones.
@Suite struct StorageKeyTests {
    @Test func theNewSecretKeyGoesInApikeyOnly() async throws {
        try await StorageClient.with { client async throws in
            let keys = client.sandbox.storage.keys
            #expect(try await client.list(#"{"prefix":""}"#, as: ["apikey": keys.secretKey]).status == 200)
            for headers in [
                ["Authorization": "Bearer \(keys.secretKey)"],
                ["Authorization": "Bearer \(keys.secretKey)", "apikey": keys.secretKey],
            ] {
                let answer = try await client.list(#"{"prefix":""}"#, as: headers)
                #expect(answer.status == 400)
                #expect(answer["statusCode"] == "403")
                #expect(answer["message"] == "Invalid Compact JWS")
            }
            let browser = ["apikey": keys.secretKey, "User-Agent": "Mozilla/5.0 (Macintosh)"]
            #expect(try await client.list(#"{"prefix":""}"#, as: browser).status == 401)
        }
    }

    @Test func legacyKeysAreTokensAndNeedAuthorization() async throws {
        try await StorageClient.with { client async throws in
            let keys = client.sandbox.storage.keys
            let missing = try await client.list(#"{"prefix":""}"#, as: ["apikey": keys.serviceRoleKey])
            #expect(missing.status == 400)
            #expect(missing["message"] == "headers must have required property 'authorization'")
            let unknown = try await client.list(#"{"prefix":""}"#, as: ["apikey": "nonsense"])
            #expect(unknown.status == 401)
            let expired = try keys.accessToken(
                userID: client.user.uuidString,
                issuedAt: Date().addingTimeInterval(-7200)
            )
            let late = try await client.list(#"{"prefix":""}"#, as: ["Authorization": "Bearer \(expired)"])
            #expect(late.status == 400 && late["statusCode"] == "403" && late["code"] == "AccessDenied")
            let forged = String(keys.serviceRoleKey.dropLast(3)) + "AAA"
            let answer = try await client.list(#"{"prefix":""}"#, as: ["Authorization": "Bearer \(forged)"])
            #expect(answer["message"] == "signature verification failed")
        }
    }

    @Test func theAnonRoleSeesNothingOfAPrivateBucket() async throws {
        try await StorageClient.with { client async throws in
            #expect(try await client.upload("a.jpeg").status == 200)
            let anon = ["Authorization": "Bearer \(client.sandbox.storage.keys.anonKey)"]
            #expect(try await client.list(#"{"prefix":""}"#, as: anon).array.isEmpty)
            #expect(try await client.object(.get, "avatars/a.jpeg", as: anon)["code"] == "NoSuchKey")
            #expect(try await client.object(.get, "public/avatars/a.jpeg", as: [:])["code"] == "NoSuchBucket")
            #expect(try await client.upload("b.jpeg", bucket: "shared").status == 200)
            #expect(try await client.object(.get, "public/shared/b.jpeg", as: [:]).text == "bytes of b.jpeg")
        }
    }
}
