/// Output values as people read them in a table or a screen.
package enum PeopleText {
    /// One harmless line; nothing (null) is an empty text.
    package static func of(_ value: OutputValue, disclosure: Disclosure) -> String {
        switch value {
        case .null: ""
        case .bool(let value): value ? "yes" : "no"
        case .integer(let value): String(value)
        case .number(let value): String(value)
        case .text(let value): SafeText.line(value)
        case .date(let value): Wording.moment(value)
        case .duration(let value): Wording.length(value)
        case .bytes(let value): Wording.size(value)
        case .personal(let value): SafeText.line(disclosure.show(value))
        case .list(let items): items.map { of($0, disclosure: disclosure) }.joined(separator: ", ")
        case .object(let members):
            members.sorted { $0.key < $1.key }
                .map { SafeText.line($0.key) + "=" + of($0.value, disclosure: disclosure) }
                .joined(separator: " ")
        }
    }
}
