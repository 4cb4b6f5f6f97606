import AsyncHTTPClient
import NIOCore
import NIOHTTP1

/// One request and its answer, read in full.
struct HTTPExchange: Sendable {
    private static let largestAnswer = 16 << 20
    private static let timeLimit = TimeAmount.seconds(30)

    let status: Int
    let body: [UInt8]

    static func send(
        _ method: String,
        _ url: String,
        body: [UInt8] = [],
        headers: [String: String] = [:]
    ) async throws -> HTTPExchange {
        var request = HTTPClientRequest(url: url)
        request.method = HTTPMethod(rawValue: method)
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        if !body.isEmpty { request.body = .bytes(ByteBuffer(bytes: body)) }
        let response = try await HTTPClient.shared.execute(request, timeout: timeLimit)
        let answer = try await response.body.collect(upTo: largestAnswer)
        return HTTPExchange(status: Int(response.status.code), body: Array(buffer: answer))
    }
}
