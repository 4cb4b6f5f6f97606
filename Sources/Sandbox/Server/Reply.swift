import Hummingbird

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An answer of a pretended service before it becomes bytes on a connection.
struct Reply: Sendable {
    var status: Int
    var headers = HTTPFields()
    var body: [UInt8]
    /// How many bytes more than the body has are promised; the connection ends instead of them.
    var missing = 0

    /// What happens once the answer is on its way, or the connection was cut instead of it.
    var afterwards: (@Sendable () -> Void)?

    /// Why the service refused, for the journal; the real services do not say.
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
