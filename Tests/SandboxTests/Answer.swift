import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

/// A request's method.
enum Verb: String {
    case get = "GET"
    case post = "POST"
    case put = "PUT"
    case delete = "DELETE"
}

/// What a service answered, read in full.
struct Answer: Sendable {
    let status: Int
    private let headers: HTTPHeaders
    let body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }

    /// The body as a JSON object; empty when it is none.
    var object: [String: Any] {
        (try? JSONSerialization.jsonObject(with: Data(body))) as? [String: Any] ?? [:]
    }

    /// The body as a JSON array of objects; empty when it is none.
    var array: [[String: Any]] {
        (try? JSONSerialization.jsonObject(with: Data(body))) as? [[String: Any]] ?? []
    }

    /// The text under a key of a JSON object.
    subscript(key: String) -> String? { object[key] as? String }

    /// The first value of a header.
    func header(_ name: String) -> String? { headers.first(name: name) }

    /// Sends one request on a connection of its own choice.
    static func to(
        _ verb: Verb = .post,
        _ url: String,
        headers: [String: String] = [:],
        body: [UInt8] = []
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: url)
        request.method = HTTPMethod(rawValue: verb.rawValue)
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        if !body.isEmpty { request.body = .bytes(ByteBuffer(bytes: body)) }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(20))
        let collected = try await response.body.collect(upTo: 32 << 20)
        return Answer(status: Int(response.status.code), headers: response.headers, body: Array(buffer: collected))
    }

    /// Sends a JSON body.
    static func json(
        _ verb: Verb = .post,
        _ url: String,
        headers: [String: String] = [:],
        _ json: String
    ) async throws -> Answer {
        try await to(
            verb,
            url,
            headers: headers.merging(["Content-Type": "application/json"]) { own, _ in own },
            body: Array(json.utf8)
        )
    }
}
