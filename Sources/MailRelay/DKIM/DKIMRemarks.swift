/// The findings for the problems of a key.
enum DKIMRemarks {
    static func finding(
        _ problem: DKIMKeyRecord.Problem,
        at name: DomainName,
        _ record: DKIMKeyRecord,
        strings: [[UInt8]],
        seen: [String]
    ) -> Finding {
        func finding(_ code: FindingCode, _ summary: String) -> Finding { Finding(code, at: name, summary, seen: seen) }
        switch problem {
        case .syntax(let error):
            return finding(.dkimSyntax, "the text at the selector is not a key record: \(error)")
        case .version(let version):
            return finding(.dkimVersion, "“v=\(version)” must be “v=DKIM1” and come first")
        case .noKey:
            return finding(.dkimSyntax, "the text at the selector has no “p”, so it is not a key")
        case .revoked:
            return finding(.dkimRevoked, "the key was withdrawn: “p” is empty")
        case .unknownType(let type):
            return finding(.dkimKeyType, "keys of type “\(type)” are unknown")
        case .base64:
            return finding(.dkimBase64, "the key is damaged: “p” is not base64\(hint(record, strings))")
        case .notAKey(let type, let length):
            return finding(
                .dkimBadKey,
                "the key is damaged: its \(length) bytes are not a key of type \(type)\(hint(record, strings))"
            )
        case .mislabelled(let says, let actual):
            return finding(.dkimKeyType, "the record says \(says), the key is \(actual)")
        case .tooShort(let bits):
            return finding(.dkimTooShort, "the RSA key has \(bits) bits; under 1024 receivers must refuse it")
        case .short(let bits):
            return finding(.dkimShort, "the RSA key has \(bits) bits; 2048 are advised")
        case .bare:
            return finding(.dkimBareKey, "the RSA key is bare (PKCS #1); wrap it as SubjectPublicKeyInfo")
        case .hashes(let hashes):
            return finding(.dkimHash, "“h=\(hashes.joined(separator: ":"))” forbids sha256")
        case .services(let services):
            return finding(.dkimService, "“s=\(services.joined(separator: ":"))” forbids mail")
        case .testing:
            return finding(.dkimTesting, "“t=y”: signed mail is treated as if it were not signed")
        }
    }

    /// A hint at the usual causes of a damaged record.
    private static func hint(_ record: DKIMKeyRecord, _ strings: [[UInt8]]) -> String {
        if record.encodedKey.contains(UInt8(ascii: "\"")) || record.encodedKey.contains(UInt8(ascii: "\\")) {
            return "; quotation marks or backslashes are part of the text"
        }
        if strings.count == 1, strings[0].count >= 250, strings[0].count <= 255 {
            return "; it seems to be cut at the 255 bytes of one string: publish it as two strings"
        }
        return ""
    }
}

extension TagList.Problem: CustomStringConvertible {
    /// What is wrong with the list.
    var description: String {
        switch self {
        case .malformedTag(""): "there is nothing between two semicolons"
        case .malformedTag(let text): "“\(text)” is not a tag"
        case .duplicate(let name): "the tag “\(name)” appears twice"
        case .badByte(let text): "“\(text)” holds a character that is not printable ASCII"
        }
    }
}
