/// The emphasis of a text, which is never the only sign of its meaning.
package enum Emphasis: Sendable, Equatable {
    case none, heading, good, caution, bad, faint

    /// The text wrapped in the escape codes of this emphasis if the stream shows colour.
    package func apply(to text: String, style: StreamStyle) -> String {
        guard style.colour, let code else { return text }
        return "\u{1B}[\(code)m\(text)\u{1B}[0m"
    }

    private var code: String? {
        switch self {
        case .none: nil
        case .heading: "1"
        case .good: "32"
        case .caution: "33"
        case .bad: "31"
        case .faint: "2"
        }
    }
}
