/// The body of an error that Storage handled.
///
/// The HTTP status is 400 for nearly all of them, even for those whose body says 503: clients must switch on ``code``.
package struct StorageErrorBody: Sendable, Codable, Equatable {
    /// The true status, as a text.
    package var statusCode: String
    package var error: String
    package var message: String
    package var code: String

    package init(statusCode: String, error: String, message: String, code: String) {
        self.statusCode = statusCode
        self.error = error
        self.message = message
        self.code = code
    }
}
