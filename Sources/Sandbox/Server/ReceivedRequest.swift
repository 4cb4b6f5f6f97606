import Hummingbird
import NIOCore

/// A request read in full, decoded no further than the real services decode it.
struct ReceivedRequest: Sendable {
    /// The maximum size of an upload or a form, in bytes.
    private static let largestBody = 64 << 20

    let method: String
    /// The path as sent, including escapes.
    let path: String
    let query: String?
    let headers: HTTPFields
    let body: [UInt8]

    init(_ request: Request) async throws {
        let target = request.head.path ?? "/"
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        method = request.method.rawValue
        path = parts.first.map(String.init) ?? "/"
        query = parts.count == 2 ? String(parts[1]) : nil
        headers = request.headers
        body = Array(buffer: try await request.body.collect(upTo: Self.largestBody))
    }

    /// The value of a header, by its lower-case name.
    func header(_ name: String) -> String? {
        headers.first { $0.name.canonicalName == name }?.value
    }

    /// The token of an `Authorization: Bearer` header.
    var bearer: String? {
        guard let value = header("authorization") else { return nil }
        let words = value.split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[0].lowercased() == "bearer" else { return nil }
        return String(words[1])
    }

    /// The media type of the body without its parameters, in lower case.
    var mediaType: String? {
        header("content-type")?.split(separator: ";").first?.lowercased()
            .split(separator: " ").first.map(String.init)
    }
}
