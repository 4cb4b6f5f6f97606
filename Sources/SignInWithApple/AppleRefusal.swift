/// Apple's `{"error": ...}`: the code decides, while the text is for people.
package struct AppleRefusal: Sendable, Hashable, CustomStringConvertible {
    /// The codes that Apple documents, and a case for others.
    package enum Code: Sendable, Hashable {
        case invalidRequest
        case invalidClient
        case invalidGrant
        case unauthorizedClient
        case unsupportedGrantType
        case invalidScope
        /// An undocumented code, shortened.
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
    /// `error_description`: undocumented and the only diagnostic, so it must never be compared.
    ///
    /// Printable ASCII, shortened.
    let detail: String?
    /// How many seconds our clock is ahead of Apple's, if that may be the cause; negative if it is behind.
    var clockAhead: Int?
    /// Whether the client passed a test just before the call, so that the refusal is about the fields sent.
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

    /// The code, the detail, and the clock error if any.
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
