import Postgres

/// An error that Storage answers with.
struct StorageFailure: Error {
    /// The HTTP status; 400 for nearly everything, whatever the body says.
    var httpStatus = 400
    let body: StorageErrorBody

    init(_ statusCode: Int, _ error: String, _ message: String, code: String, httpStatus: Int = 400) {
        self.httpStatus = httpStatus
        body = StorageErrorBody(statusCode: String(statusCode), error: error, message: message, code: code)
    }

    static var noSuchKey: StorageFailure { .init(404, "not_found", "Object not found", code: "NoSuchKey") }

    static var noSuchBucket: StorageFailure { .init(404, "Bucket not found", "Bucket not found", code: "NoSuchBucket") }

    static var duplicate: StorageFailure {
        .init(409, "Duplicate", "The resource already exists", code: "KeyAlreadyExists")
    }

    static func accessDenied(_ message: String) -> StorageFailure {
        .init(403, "Unauthorized", message, code: "AccessDenied")
    }

    static func invalidRequest(_ message: String) -> StorageFailure {
        .init(400, "Error", message, code: "InvalidRequest")
    }

    static func invalidKey(_ key: String) -> StorageFailure {
        .init(400, "InvalidKey", "Invalid key: \(key)", code: "InvalidKey")
    }

    static func mimeType(_ type: String) -> StorageFailure {
        .init(415, "invalid_mime_type", "mime type \(type) is not supported", code: "InvalidMimeType")
    }

    static var tooLarge: StorageFailure {
        .init(413, "Payload too large", "The object exceeded the maximum allowed size", code: "EntityTooLarge")
    }

    /// A real 500: the backend that holds the bytes failed.
    static var backend: StorageFailure {
        .init(500, "InternalError", "Internal server error", code: "InternalError", httpStatus: 500)
    }

    /// Maps a database error to the server's answer.
    init(_ error: PostgresError) {
        switch error.sqlState {
        case SQLState(rawValue: "42501"): self = .accessDenied(error.diagnostics?.message ?? "Access denied")
        case .uniqueViolation: self = .duplicate
        case SQLState(rawValue: "25006"):
            self.init(
                503,
                "DatabaseReadOnly",
                "The database is currently in read-only mode. Please try again later.",
                code: "DatabaseReadOnly"
            )
        case SQLState(rawValue: "55P03"):
            self.init(503, "acquiring_lock_timeout", "acquiring lock timeout", code: "LockTimeout")
        case SQLState(rawValue: "53300"):
            self.init(
                429,
                "too_many_connections",
                "Too many connections issued to the database",
                code: "SlowDown",
                httpStatus: 429
            )
        case .some: self.init(500, "DatabaseError", "Database error", code: "DatabaseError", httpStatus: 500)
        case nil:
            self.init(
                544,
                "DatabaseTimeout",
                "The connection to the database timed out",
                code: "DatabaseTimeout",
                httpStatus: 544
            )
        }
    }
}
