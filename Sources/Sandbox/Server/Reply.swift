import Hummingbird

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An answer of a simulated service before it is written to a connection.
struct Reply: Sendable {
    var status: Int
    var headers = HTTPFields()
    var body: [UInt8]
    /// How many more bytes than the body has are announced; the connection closes in their place.
    var missing = 0

    /// Called once the answer was sent, or the connection was cut in its place.
    var afterwards: (@Sendable () -> Void)?

    /// The reason for a refusal, for the journal; the real services do not reveal it.
    var reason: String?

    init(status: Int = 200, contentType: String? = nil, body: [UInt8] = [], reason: String? = nil) {
        self.status = status
        if let contentType { headers[.contentType] = contentType }
        self.body = body
        self.reason = reason
    }

    /// A JSON answer.
    static func json(
        _ value: some Encodable,
        status: Int = 200,
        reason: String? = nil
    ) throws -> Reply {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Reply(
            status: status,
            contentType: "application/json;charset=UTF-8",
            body: Array(try encoder.encode(value)),
            reason: reason
        )
    }

    static func text(_ text: String, status: Int = 200, contentType: String = "text/plain") -> Reply {
        Reply(status: status, contentType: contentType, body: Array(text.utf8))
    }
}
