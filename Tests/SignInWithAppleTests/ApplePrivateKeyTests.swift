import Crypto
import CryptoExtras
import Foundation
import Sealing
import Testing

@testable import SignInWithApple

@Suite struct ApplePrivateKeyTests {
    let pem = P256.Signing.PrivateKey().pemRepresentation

    private func parse(_ text: String) throws(ApplePrivateKey.Problem) -> ApplePrivateKey {
        try ApplePrivateKey(parsing: Secret(text))
    }

    @Test func takesEveryFormThatPeopleHave() throws {
        let forms = [
            pem,
            pem + "\n",
            "\u{FEFF}" + pem,
            pem.replacing("\n", with: "\r\n"),
            pem.replacing("\n", with: "\\n"),
            pem.replacing("\n", with: "\\r\\n"),
            "\"" + pem.replacing("\n", with: "\\n") + "\"",
            pem.replacing("\n", with: " "),
            "  " + pem.replacing("\n", with: "\n   "),
            Data(pem.utf8).base64EncodedString(),
            Data(pem.utf8).base64EncodedString(options: .lineLength76Characters),
            pem.split(separator: "\n").dropFirst().dropLast().joined(),
        ]
        for form in forms {
            #expect(try parse(form).pem.reveal() == pem)
        }
    }

    @Test func tellsEachMistakeApart() throws {
        let rsa = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let jwt = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJBIn0.c2ln"
        let cases: [(String, ApplePrivateKey.Problem)] = [
            ("", .empty), (" \n", .empty), ("\"\"", .empty),
            (jwt, .clientSecretInstead),
            (P256.Signing.PrivateKey().publicKey.pemRepresentation, .publicKey),
            (rsa.pemRepresentation, .rsaKey), (rsa.pkcs8PEMRepresentation, .rsaKey),
            (Data(rsa.pkcs8PEMRepresentation.utf8).base64EncodedString(), .rsaKey),
            (P384.Signing.PrivateKey().pemRepresentation, .otherCurve),
            // The beginning of one of secp256k1, which has as many bits.
            ("-----BEGIN PRIVATE KEY-----\nMBAGByqGSM49AgEGBSuBBAAK\n-----END PRIVATE KEY-----", .otherCurve),
            ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", .certificate),
            ("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----", .encrypted),
            // As openssl ec writes it with a passphrase.
            (
                "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nAAAA\n"
                    + "-----END EC PRIVATE KEY-----", .encrypted
            ),
            ("/run/secrets/AuthKey_ABC123DEFG.p8", .path), ("AuthKey_ABC123DEFG.p8", .path),
            (String(pem.dropLast(40)), .damaged), (String(pem.prefix(100)), .damaged),
            ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", .damaged),
            ("correct horse battery staple", .notAKey),
        ]
        for (text, problem) in cases {
            #expect(throws: problem, "\(text.prefix(30))") { try parse(text) }
        }
    }

    @Test func describesNothing() throws {
        let key = try parse(pem)
        var dumped = ""
        dump(key, to: &dumped)
        let middle = String(pem.split(separator: "\n")[1])
        #expect(!("\(key)" + String(reflecting: key) + dumped).contains(middle))
    }
}
