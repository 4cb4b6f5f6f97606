/// Apple's `{"error": ...}`: the code decides, the text is for people.
package struct AppleRefusal: Sendable, Hashable, CustomStringConvertible {
    /// The codes Apple documents, and room for others.
    package enum Code: Sendable, Hashable {
        case invalidRequest
        case invalidClient
        case invalidGrant
        case unauthorizedClient
        case unsupportedGrantType
        case invalidScope
        /// A code nobody documented, shortened.
        case other(String)

        /// The code as Apple spells it.
        package var text: String {
            switch self {
            case .invalidRequest: "invalid_request"
            case .invalidClient: "invalid_client"
            case .invalidGrant: "invalid_grant"
            case .unauthorizedClient: "unauthorized_client"
            case .unsupportedGrantType: "unsupported_grant_type"
            case .invalidScope: "invalid_scope"
            case .other(let text): text
            }
        }

        init(_ text: String) {
            self =
                switch text {
                case "invalid_request": .invalidRequest
                case "invalid_client": .invalidClient
                case "invalid_grant": .invalidGrant
                case "unauthorized_client": .unauthorizedClient
                case "unsupported_grant_type": .unsupportedGrantType
                case "invalid_scope": .invalidScope
                default: .other(AppleRefusal.printable(text, limit: 40))
                }
        }
    }

    /// The code.
    package let code: Code
    /// `error_description`: undocumented, never to be compared with, and the only diagnostic there is.
    ///
    /// Printable ASCII, shortened.
    let detail: String?
    /// By how many seconds our clock is ahead of Apple's, where that may be why; less than none where it is behind.
    var clockAhead: Int?
    /// Whether a test of the client was good right before the call, so that this is about what was sent.
    var isAfterGoodTest = false

    /// A refusal.
    init(code: Code, detail: String? = nil) {
        self.code = code
        self.detail = detail.map { Self.printable($0, limit: 200) }
    }

    init?(body: [UInt8]) {
        guard let json = try? StrictJSON(parsing: body), let code = json["error"]?.text else { return nil }
        self.init(code: Code(code), detail: json["error_description"]?.text)
    }

    /// Code and detail, and what is wrong with the clock.
    package var description: String {
        let clock = clockAhead.map { seconds in
            "the clock of the machine that asked is \(abs(seconds)) s \(seconds > 0 ? "ahead of" : "behind") Apple's"
        }
        let words = [detail, clock].compactMap(\.self)
        return words.isEmpty ? code.text : "\(code.text) (\(words.joined(separator: "; ")))"
    }

    fileprivate static func printable(_ text: String, limit: Int) -> String {
        String(decoding: text.utf8.prefix(limit).map { (0x20..<0x7F).contains($0) ? $0 : 0x3F }, as: UTF8.self)
    }
}
