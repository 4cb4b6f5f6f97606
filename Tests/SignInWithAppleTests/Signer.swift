import Crypto
import CryptoExtras
import Foundation
import Sealing
import Testing

@testable import SignInWithApple

/// A key pair like one of Apple's, made at run time, with ways of signing that Apple would never use.
struct Signer: Sendable {
    let keyID: String
    private let key: _RSA.Signing.PrivateKey

    /// Making a key takes long in a debug build: two serve all tests.
    static let first = make("first-key")
    static let second = make("second-key")

    private static func make(_ keyID: String) -> Signer {
        do {
            return Signer(keyID: keyID, key: try _RSA.Signing.PrivateKey(keySize: .bits2048))
        } catch {
            fatalError("no RSA key: \(error)")
        }
    }

    private init(keyID: String, key: _RSA.Signing.PrivateKey) {
        self.keyID = keyID
        self.key = key
    }

    var publicKeyPEM: String { key.publicKey.pemRepresentation }

    var jwk: String {
        get throws {
            let numbers = try key.publicKey.getKeyPrimitives()
            let (n, e) = (encode(Array(numbers.modulus)), encode(Array(numbers.publicExponent)))
            return #"{"kty":"RSA","kid":"\#(keyID)","use":"sig","alg":"RS256","n":"\#(n)","e":"\#(e)"}"#
        }
    }

    static func jwks(_ signers: [Signer]) throws -> String {
        #"{"keys":[\#(try signers.map { try $0.jwk }.joined(separator: ","))]}"#
    }

    static func keySet(_ signers: Signer...) throws -> AppleKeySet {
        guard let set = AppleKeySet(jwks: Array(try jwks(signers).utf8)) else { throw CancellationError() }
        return set
    }

    /// A token with any header and payload, properly signed.
    func sign(_ payload: String, header: String? = nil) throws -> String {
        let header = header ?? #"{"alg":"RS256","kid":"\#(keyID)"}"#
        let signed = encode(Array(header.utf8)) + "." + encode(Array(payload.utf8))
        let signature = try key.signature(
            for: SHA256.hash(data: Array(signed.utf8)),
            padding: .insecurePKCS1v1_5
        )
        return signed + "." + encode(Array(signature.rawRepresentation))
    }

    func encode(_ bytes: [UInt8]) -> String { Base64.encode(bytes, alphabet: .urlSafe) }
}

/// Claims of a token or notification; nil leaves one out.
struct Claims {
    static let now = Date(timeIntervalSince1970: 1_750_000_000)

    var iss: String? = #""https://appleid.apple.com""#
    var aud: String? = #""com.example.app""#
    var iat: String? = "1750000000"
    var exp: String? = "1750086400"
    var others: [String] = []

    var json: String {
        let parts = [("iss", iss), ("aud", aud), ("iat", iat), ("exp", exp)].compactMap { name, value in
            value.map { #""\#(name)":\#($0)"# }
        }
        return "{\((parts + others).joined(separator: ","))}"
    }

    static func identity(_ change: (inout Claims) -> Void = { _ in }) -> String {
        var claims = Claims(others: [#""sub":"001234.0123456789abcdef0123456789abcdef.0123""#])
        change(&claims)
        return claims.json
    }

    static let event = #"{"type":"consent-revoked","sub":"001.a.2","event_time":1750000000123}"#

    static func notification(events: String? = nil, _ change: (inout Claims) -> Void = { _ in }) -> String {
        var claims = Claims(others: [#""jti":"jti-1""#, #""events":\#(events ?? quoted(event))"#])
        change(&claims)
        return claims.json
    }

    static func quoted(_ json: String) -> String {
        "\"" + json.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}

/// A change to good claims, and why the result must be refused.
struct Change: Sendable, CustomTestStringConvertible {
    let name: String
    let problem: TokenProblem
    let apply: @Sendable (inout Claims) -> Void

    init(_ name: String, _ problem: TokenProblem, _ apply: @escaping @Sendable (inout Claims) -> Void) {
        self.name = name
        self.problem = problem
        self.apply = apply
    }

    var testDescription: String { name }
}
