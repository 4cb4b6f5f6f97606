import Foundation
import JWTKit
import Sealing
import SignInWithApple
import Testing

@Suite struct ClientSecretTests {
    let now = Date(timeIntervalSince1970: 1_750_000_000.9)
    let key = ApplePrivateKey.random()

    private func identity(_ clientID: String = "com.example.app") throws -> AppleClientIdentity {
        try AppleClientIdentity(clientID: clientID, teamID: "TEAM123456", keyID: "KEY1234567", key: key)
    }

    /// jwt-kit is another implementation than the one that signs.
    private struct Payload: JWTPayload {
        let iss: String
        let iat: Int
        let exp: Int
        let aud: String
        let sub: String
        func verify(using algorithm: some JWTAlgorithm) throws {}
    }

    @Test func anotherImplementationVerifiesIt() async throws {
        let secret = try ClientSecret.mint(for: identity(), now: now).reveal()
        let keys = await JWTKeyCollection().add(ecdsa: try ES256PublicKey(pem: key.publicKeyPEM))
        let payload = try await keys.verify(secret, as: Payload.self)
        #expect(payload.iss == "TEAM123456")
        #expect(payload.sub == "com.example.app")
        #expect(payload.aud == "https://appleid.apple.com")
        #expect(payload.iat == 1_750_000_000 - 30)
        #expect(payload.exp == 1_750_000_000 + 300)
        let header = try DefaultJWTParser().parse(Array(secret.utf8), as: Payload.self).header
        #expect(header.alg == "ES256")
        #expect(header.kid == "KEY1234567")
    }

    @Test func neverLivesLongerThanAppleAllows() throws {
        let secret = try ClientSecret.mint(for: identity(), now: now, lifetime: .seconds(100_000_000))
        guard case .clientSecret(let facts) = StaticClientSecret.inspect(secret, now: now) else {
            Issue.record("not a client secret")
            return
        }
        #expect(facts.problems == [])
        let begin = try #require(facts.issuedAt)
        #expect(facts.expiresAt == begin + 15_777_000)
    }

    @Test func inspectsWhatSupabaseHolds() throws {
        let secret = try ClientSecret.mint(for: identity(), now: now, lifetime: .seconds(3600))
        let later = now + 7200
        // As an editor may write a file, with a byte order mark and a line end.
        let text = secret.map { "\u{FEFF} \($0)\r\n" }
        guard case .clientSecret(let facts) = StaticClientSecret.inspect(text, now: later) else {
            Issue.record("not a client secret")
            return
        }
        #expect(facts.keyID == "KEY1234567")
        #expect(facts.teamID == "TEAM123456")
        #expect(facts.clientID == "com.example.app")
        #expect(facts.problems == [.expired])
        #expect(key.hasSigned(secret))
        #expect(!ApplePrivateKey.random().hasSigned(secret))
    }

    @Test func namesEverythingThatAppleWouldRefuse() {
        func encode(_ text: String) -> String { Base64.encode(Array(text.utf8), alphabet: .urlSafe) }
        let token = encode(#"{"alg":"HS256"}"#) + "." + encode(#"{"iat":1750000900,"exp":1850000000}"#) + ".c2ln"
        guard case .clientSecret(let facts) = StaticClientSecret.inspect(Secret(token), now: now) else {
            Issue.record("not a client secret")
            return
        }
        #expect(
            Set(facts.problems) == [
                .algorithm, .noKeyID, .audience, .noTeamID, .noClientID, .tooLong, .issuedInTheFuture,
            ]
        )
    }

    /// A secret that lost its end on the way, or that was signed with a tool that writes DER, looks good otherwise.
    @Test func namesASignatureOfAnotherForm() throws {
        let secret = try ClientSecret.mint(for: identity(), now: now).reveal()
        let dot = try #require(secret.lastIndex(of: "."))
        let signed = secret[...dot]
        let der = "MEUCIQ" + String(repeating: "A", count: 90)
        for token in [String(secret.dropLast()), "\(secret)AA", "\(signed)\(der)", String(signed)] {
            guard case .clientSecret(let facts) = StaticClientSecret.inspect(Secret(token), now: now) else {
                Issue.record("not a client secret")
                return
            }
            #expect(facts.problems == [.signature])
        }
    }

    @Test func recognisesAPastedKey() {
        #expect(StaticClientSecret.inspect(key.pem, now: now) == .privateKey)
        let broken = Secret("-----BEGIN PRIVATE KEY-----\nAAA")
        #expect(StaticClientSecret.inspect(broken, now: now) == .privateKey)
        #expect(StaticClientSecret.inspect(Secret("hello"), now: now) == .notASecret)
    }

    @Test(arguments: [
        ("com.example.app", "TEAM12345", "KEY1234567", AppleClientIdentity.Problem.teamID),
        ("com.example.app", "TEAM123456", "KEY-234567", .keyID),
        ("", "TEAM123456", "KEY1234567", .clientID),
        ("com.example.\"app", "TEAM123456", "KEY1234567", .clientID),
        ("TEAM123456.com.example.app", "TEAM123456", "KEY1234567", .clientIDWithTeam),
    ])
    func identitiesAreChecked(clientID: String, teamID: String, keyID: String, problem: AppleClientIdentity.Problem) {
        #expect(throws: problem) {
            try AppleClientIdentity(clientID: clientID, teamID: teamID, keyID: keyID, key: key)
        }
    }
}
