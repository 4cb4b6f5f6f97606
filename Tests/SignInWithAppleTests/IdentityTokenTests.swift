import Crypto
import Foundation
import Sealing
import Testing

@testable import SignInWithApple

@Suite struct IdentityTokenTests {
    private func verify(
        _ token: String,
        keys: AppleKeySet? = nil,
        now: Date = Claims.now
    ) throws -> IdentityToken.Verdict {
        IdentityToken.verify(
            token,
            keys: try keys ?? Signer.keySet(.first),
            audiences: ["com.example.app", "com.example.web"],
            now: now
        )
    }

    @Test func tellsWhomItIsAboutAndNobodyElse() throws {
        let claims = Claims.identity { claims in
            claims.others += [
                #""auth_time":1749999998,"email":"a@privaterelay.appleid.com","email_verified":"true""#,
                #""is_private_email":true,"real_user_status":7,"transfer_sub":"t","nonce_supported":true"#,
            ]
        }
        guard case .verified(let token) = try verify(Signer.first.sign(claims)) else {
            Issue.record("a good token was refused")
            return
        }
        #expect(token.sub == "001234.0123456789abcdef0123456789abcdef.0123")
        #expect(token.audience == "com.example.app")
        #expect(!"\(token)".contains("privaterelay"))
        #expect(!"\(token)".contains(token.sub))
    }

    @Test(
        arguments: [
            .init(#""iss":1"#, .issuer) { $0.iss = "1" },
            .init("other issuer", .issuer) { $0.iss = #""https://account.apple.com""# },
            .init("slash", .issuer) { $0.iss = #""https://appleid.apple.com/""# },
            .init("no issuer", .issuer) { $0.iss = nil },
            .init("other audience", .audience) { $0.aud = #""com.example.other""# },
            .init("audience case", .audience) { $0.aud = #""com.example.App""# },
            .init("no audience", .audience) { $0.aud = nil },
            .init("empty audience", .audience) { $0.aud = "[]" },
            .init("expired", .expired) { $0.exp = "1749999940" },
            .init("no end", .missingClaim) { $0.exp = nil },
            .init("end as text", .payload) { $0.exp = #""1750086400""# },
            .init("future", .notYetIssued) { $0.iat = "1750000061" },
            .init("no beginning", .missingClaim) { $0.iat = nil },
            .init("no sub", .missingClaim) { $0.others = [] },
            .init("empty sub", .missingClaim) { $0.others = [#""sub":"""#] },
            .init("number as sub", .missingClaim) { $0.others = [#""sub":5"#] },
        ] as [Change]
    )
    func refuses(change: Change) throws {
        #expect(try verify(Signer.first.sign(Claims.identity(change.apply))) == .refused(change.problem))
    }

    @Test func clocksMayDifferByAMinute() throws {
        let early = Claims.identity { $0.iat = "1750000060" }
        let late = Claims.identity { $0.exp = "1749999941" }
        for claims in [early, late] {
            guard case .verified = try verify(Signer.first.sign(claims)) else {
                Issue.record("a minute's skew was refused")
                return
            }
        }
    }

    @Test func audienceMayBeAnArray() throws {
        let claims = Claims.identity { $0.aud = #"["other","com.example.web"]"# }
        guard case .verified(let token) = try verify(Signer.first.sign(claims)) else {
            Issue.record("refused")
            return
        }
        #expect(token.audience == "com.example.web")
    }

    @Test func theAlgorithmIsNotTheTokensToChoose() throws {
        let signer = Signer.first
        let payload = signer.encode(Array(Claims.identity().utf8))
        func header(_ text: String) -> String { signer.encode(Array(text.utf8)) }

        for algorithm in ["none", "None", "NONE", ""] {
            let head = header(#"{"alg":"\#(algorithm)","kid":"first-key"}"#)
            for signature in ["", "AAAA"] {
                #expect(try verify("\(head).\(payload).\(signature)") == .refused(.algorithm))
            }
        }

        // HS256 with the public key as its secret: the classic confusion.
        let signed = header(#"{"alg":"HS256","kid":"first-key"}"#) + "." + payload
        let code = HMAC<SHA256>.authenticationCode(
            for: Array(signed.utf8),
            using: SymmetricKey(data: Array(signer.publicKeyPEM.utf8))
        )
        #expect(try verify(signed + "." + signer.encode(Array(code))) == .refused(.algorithm))

        // A good RS256 signature under a header that claims another algorithm.
        for algorithm in ["RS384", "ES256", "rs256", "PS256"] {
            let token = try signer.sign(Claims.identity(), header: #"{"alg":"\#(algorithm)","kid":"first-key"}"#)
            #expect(try verify(token) == .refused(.algorithm))
        }
    }

    @Test func keysAreFoundByIDOnly() throws {
        let token = try Signer.first.sign(Claims.identity())
        #expect(try verify(token, keys: Signer.keySet(.second)) == .unknownKey("first-key"))
        let stolen = try Signer.second.sign(Claims.identity(), header: #"{"alg":"RS256","kid":"first-key"}"#)
        #expect(try verify(stolen, keys: Signer.keySet(.first, .second)) == .refused(.signature))
        #expect(try verify(Signer.first.sign(Claims.identity(), header: #"{"alg":"RS256"}"#)) == .refused(.noKeyID))
        #expect(
            try verify(Signer.first.sign(Claims.identity(), header: #"{"alg":"RS256","kid":7}"#)) == .refused(.noKeyID)
        )
        let long = String(repeating: "k", count: 65)
        #expect(
            try verify(Signer.first.sign(Claims.identity(), header: #"{"alg":"RS256","kid":"\#(long)"}"#))
                == .refused(.noKeyID)
        )
    }

    /// A key that the token itself brings along, or points to, is never used.
    @Test func theTokensOwnKeyIsNoKey() throws {
        func token(_ keyID: String) throws -> String {
            let key = try Signer.second.jwk
            let header =
                #"{"alg":"RS256","kid":"\#(keyID)","jwk":\#(key),"jku":"https://example.com/keys","x5c":["AAAA"]}"#
            return try Signer.second.sign(Claims.identity(), header: header)
        }
        #expect(try verify(token("first-key")) == .refused(.signature))
        #expect(try verify(token("second-key")) == .unknownKey("second-key"))
    }

    @Test func headersWithSurprisesAreRefused() throws {
        let headers = [
            #"{"alg":"RS256","alg":"none","kid":"first-key"}"#, #"{"alg":"RS256","kid":"first-key","crit":["x"]}"#,
            #"[]"#, #""RS256""#, "null", "{",
        ]
        for header in headers {
            #expect(try verify(Signer.first.sign(Claims.identity(), header: header)) == .refused(.malformed))
        }
    }

    @Test func everyChangedByteIsNoticed() throws {
        let token = Array(try Signer.first.sign(Claims.identity()).utf8)
        for index in stride(from: 0, to: token.count, by: 7) {
            var changed = token
            changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            if case .verified = try verify(String(decoding: changed, as: UTF8.self)) {
                Issue.record("byte \(index) does not matter")
            }
        }
    }

    @Test func oddShapes() throws {
        let token = try Signer.first.sign(Claims.identity())
        let parts = token.split(separator: ".")
        for text in [
            "", ".", "..", "a", "a.b", token + ".", token + "=", " " + token, "." + token, "\(parts[0]).\(parts[2])",
        ] {
            if case .refused = try verify(text) { continue }
            Issue.record("\(text.prefix(20)) was not refused")
        }
        #expect(try verify(String(repeating: "a", count: 20_000)) == .refused(.tooLarge))
    }
}
