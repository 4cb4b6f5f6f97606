import HTTPCalls
import Sealing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension StorageClient {
    func send(
        _ label: String,
        _ method: HTTPCall.Method,
        _ path: String,
        json: (any Encodable & Sendable)? = nil,
        limit: Int = 1 << 20
    ) async throws(CancellationError) -> StorageAnswer {
        StorageAnswer(try await perform(label, method, path, json: json, limit: limit))
    }

    func perform(
        _ label: String,
        _ method: HTTPCall.Method,
        _ path: String,
        json: (any Encodable & Sendable)? = nil,
        extraHeaders: [HTTPCall.Header] = [],
        limit: Int
    ) async throws(CancellationError) -> HTTPOutcome {
        var headers = key.headers + [.init("Accept", "application/json")] + extraHeaders
        var body: Secret<[UInt8]>?
        if let json {
            headers.append(.init("Content-Type", "application/json"))
            guard let data = try? JSONEncoder().encode(json) else {
                preconditionFailure("strings and numbers can be encoded")
            }
            // Secret, since object keys often contain a user's id.
            body = Secret(Array(data))
        }
        return try await caller.perform(
            HTTPCall(
                label: label,
                method: method,
                address: address,
                path: path,
                headers: headers,
                body: body,
                deadline: deadline,
                attemptTimeout: min(.seconds(30), deadline),
                repetition: method == .delete ? .onlyIfNothingWasSent : .always,
                maximumReplyBytes: limit
            )
        )
    }

    static func decode<Value: Decodable>(_ type: Value.Type, _ body: [UInt8]) -> Value? {
        try? JSONDecoder().decode(type, from: Data(body))
    }
}
