#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The Storage service's error body; the HTTP status is 400 for nearly every error and therefore meaningless.
package struct StorageRefusal: Sendable, Hashable, CustomStringConvertible {
    /// `code`, such as `NoSuchKey`; older servers send none.
    package let code: String?
    /// `statusCode`: the true status, sent as a string.
    let status: Int?
    /// `error`, such as `not_found`.
    let error: String?
    /// Whether the server lacks the route, as opposed to the object.
    let isUnknownRoute: Bool

    /// A refusal.
    init(code: String?, status: Int?, error: String? = nil, isUnknownRoute: Bool = false) {
        self.code = code
        self.status = status
        self.error = error
        self.isUnknownRoute = isUnknownRoute
    }

    init?(body: [UInt8]) {
        struct Body: Decodable {
            var code: String?
            var error: String?
            var message: String?
            var status: Int?

            enum Keys: String, CodingKey { case code, error, message, statusCode }

            init(from decoder: any Decoder) throws {
                let values = try decoder.container(keyedBy: Keys.self)
                code = try? values.decodeIfPresent(String.self, forKey: .code)
                error = try? values.decodeIfPresent(String.self, forKey: .error)
                message = try? values.decodeIfPresent(String.self, forKey: .message)
                status =
                    (try? values.decode(Int.self, forKey: .statusCode))
                    ?? (try? values.decode(String.self, forKey: .statusCode)).flatMap { Int($0) }
            }
        }
        guard let body = try? JSONDecoder().decode(Body.self, from: Data(body)),
            body.code != nil || body.status != nil
        else { return nil }
        self.init(
            code: body.code.map { Self.printable($0) },
            status: body.status,
            error: body.error.map { Self.printable($0) },
            isUnknownRoute: body.code == nil && body.status == 404 && body.message?.hasPrefix("Route ") == true
        )
    }

    /// The code and the true status.
    ///
    /// The server's message is omitted, since it may contain an object's name.
    package var description: String {
        let parts = [code, error, status.map { "status \($0)" }].compactMap { $0 }
        return parts.isEmpty ? "unnamed error" : parts.joined(separator: ", ")
    }

    private static func printable(_ text: String) -> String {
        String(decoding: text.utf8.prefix(60).map { (0x20..<0x7F).contains($0) ? $0 : 0x3F }, as: UTF8.self)
    }

    /// The codes for a rejected key.
    private static let keyCodes: Set<String> = [
        "AccessDenied", "InvalidJWT", "Unauthorized", "InvalidSignature", "SignatureDoesNotMatch",
    ]

    /// Whether the code says that the key was rejected.
    private var namesKey: Bool { code.map(Self.keyCodes.contains) ?? false }

    /// Whether the key was rejected.
    package var isOfKey: Bool { namesKey || status == 401 || status == 403 }

    /// The meaning of a refusal.
    enum Meaning: Sendable {
        case gone
        case configuration
        case notNow
        case unknownRoute
    }

    /// The meaning, derived from the code first, then from the true status, never from the HTTP status.
    var meaning: Meaning {
        if namesKey { return .configuration }
        switch code {
        case "NoSuchKey", "NoSuchBucket", "NoSuchUpload": return .gone
        case "InvalidKey", "InvalidBucketName", "InvalidRequest", "MissingParameter", "TenantNotFound":
            return .configuration
        case "SlowDown", "DatabaseTimeout", "LockTimeout", "ResourceLocked", "DatabaseReadOnly", "InternalError",
            "DatabaseError", "S3Error":
            return .notNow
        default: break
        }
        if isUnknownRoute { return .unknownRoute }
        return switch status {
        case 404: .gone
        case 400, 401, 403, 405, 409, 413, 422: .configuration
        default: .notNow
        }
    }
}
