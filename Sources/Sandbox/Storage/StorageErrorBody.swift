/// The body of an error that Storage handled.
///
/// The HTTP status is 400 for nearly all of them, even for those whose body says 503: clients must switch on ``code``.
package struct StorageErrorBody: Sendable, Codable, Equatable {
    /// The true status, as a string.
    var statusCode: String
    var error: String
    var message: String
    var code: String
}
