/// Normalizes request paths as gateways do before they forward a request (RFC 3986, section 6.2.2).
///
/// Escaped dots become dots, repeated slashes become one, and dot segments are removed.
enum GatewayPath {
    /// Returns a GET request with its path normalized, and any other bytes unchanged.
    static func resolve(_ bytes: [UInt8]) -> [UInt8] {
        let text = String(decoding: bytes, as: UTF8.self)
        let words = text.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard words.count == 3, words[0] == "GET" else { return bytes }
        return Array("GET \(resolve(path: words[1])) \(words[2])".utf8)
    }

    private static func resolve(path: Substring) -> String {
        var kept: [Substring] = []
        for segment in path.split(separator: "/") {
            switch segment.lowercased().replacing("%2e", with: ".") {
            case ".": break
            case "..": _ = kept.popLast()
            default: kept.append(segment)
            }
        }
        return "/" + kept.joined(separator: "/")
    }
}
