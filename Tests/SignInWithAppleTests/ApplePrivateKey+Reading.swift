import Crypto
import Sealing

@testable import SignInWithApple

extension ApplePrivateKey {
    /// The file's text.
    var pem: Secret<String> { key.map { $0.pemRepresentation } }

    /// The public half, X.509 in PEM.
    var publicKeyPEM: String { key.reveal().publicKey.pemRepresentation }

    /// Whether the key signed a client secret.
    func hasSigned(_ secret: Secret<String>) -> Bool {
        let value = secret.reveal()
        guard let dot = value.lastIndex(of: "."),
            let bytes = Base64.decode(value[value.index(after: dot)...], alphabet: .urlSafe),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: bytes)
        else { return false }
        return key.reveal().publicKey.isValidSignature(signature, for: Array(value[..<dot].utf8))
    }
}
