/// A key as a domain publishes it (RFC 6376, 3.6.1), with every problem that keeps receivers from using it.
struct DKIMKeyRecord: Sendable, Hashable {
    /// The key itself; nil if it could not be read.
    let key: Key?
    /// The text of `p` without white space, compared with the record that the provider expects.
    let encodedKey: [UInt8]
    /// All errors and weaknesses, the most serious first.
    let problems: [Problem]

    /// A public key.
    enum Key: Sendable, Hashable {
        /// An RSA key, with its length and encoding.
        case rsa(RSAPublicKey)
        /// Ed25519 (RFC 8463).
        case ed25519
    }

    /// A problem with a record.
    enum Problem: Sendable, Hashable {
        /// The record is not a tag list.
        case syntax(TagList.Problem)
        /// `v` is not "DKIM1", or is not the first tag.
        case version(String)
        /// There is no `p`.
        case noKey
        /// `p` is empty.
        case revoked
        /// `k` names an unknown key type.
        case unknownType(String)
        /// `p` is not valid base64.
        case base64
        /// `p` decodes to bytes that are not a key of the stated type; `length` is in bytes.
        case notAKey(type: String, length: Int)
        /// The bytes are a key of another type.
        case mislabelled(says: String, is: String)
        /// An RSA key that receivers must refuse.
        case tooShort(bits: Int)
        /// An RSA key that should be replaced.
        case short(bits: Int)
        /// An RSA key that is not wrapped in SubjectPublicKeyInfo.
        case bare
        /// `h` does not list sha256.
        case hashes([String])
        /// `s` does not list e-mail.
        case services([String])
        /// `t=y`.
        case testing
    }

    /// Parses a record from the joined strings of a TXT record; never throws, since every defect becomes a problem.
    init(_ text: [UInt8]) {
        var problems: [Problem] = []
        let list: TagList
        do {
            list = try TagList(text)
        } catch {
            self.key = nil
            self.encodedKey = []
            self.problems = [.syntax(error)]
            return
        }
        if let version = list.text("v"), version != "DKIM1" || list.tags.first?.name != "v" {
            problems.append(.version(version))
        }
        if let hashes = list.words("h"), !hashes.contains("sha256") { problems.append(.hashes(hashes)) }
        if let services = list.words("s"), !services.contains("email"), !services.contains("*") {
            problems.append(.services(services))
        }
        let encoded = (list["p"] ?? []).filter { !$0.isWhiteSpace }
        self.encodedKey = encoded
        var key: Key?
        if list["p"] == nil {
            // The record is some other text, such as one published by a wildcard, so its missing version is not
            // reported.
            problems.removeAll { if case .version = $0 { true } else { false } }
            problems.append(.noKey)
        } else if encoded.isEmpty {
            problems.append(.revoked)
        } else if let bytes = TagBase64.decode(encoded) {
            key = Self.key(bytes, type: list.words("k")?.first ?? "rsa", &problems)
        } else {
            problems.append(.base64)
        }
        self.key = key
        if list.words("t")?.contains("y") == true { problems.append(.testing) }
        self.problems = problems
    }

    /// The record that publishes a key given in base64.
    static func text(publishing key: String) -> String {
        let type = TagBase64.decode(key.utf8.filter { !$0.isWhiteSpace })?.count == 32 ? "ed25519" : "rsa"
        return "v=DKIM1; k=\(type); p=\(key)"
    }

    private static func key(_ bytes: [UInt8], type: String, _ problems: inout [Problem]) -> Key? {
        let rsa = RSAPublicKey(der: bytes)
        switch type {
        case "rsa":
            guard let rsa else {
                problems.append(
                    bytes.count == 32
                        ? .mislabelled(says: "rsa", is: "ed25519") : .notAKey(type: "rsa", length: bytes.count)
                )
                return nil
            }
            if rsa.bits < 1024 {
                problems.append(.tooShort(bits: rsa.bits))
            } else if rsa.bits < 2048 {
                problems.append(.short(bits: rsa.bits))
            }
            if rsa.isBare { problems.append(.bare) }
            return .rsa(rsa)
        case "ed25519":
            guard bytes.count == 32 else {
                problems.append(
                    rsa != nil
                        ? .mislabelled(says: "ed25519", is: "rsa") : .notAKey(type: "ed25519", length: bytes.count)
                )
                return nil
            }
            return .ed25519
        default:
            problems.append(.unknownType(type))
            return nil
        }
    }
}
