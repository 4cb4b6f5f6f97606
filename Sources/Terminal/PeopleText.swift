#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Formats output values for people, in a table or on a screen.
enum PeopleText {
    /// A value in a table.
    static func cell(_ value: OutputValue, _ emphasis: Emphasis = .none, disclosure: Disclosure) -> TableCell {
        TableCell(of(value, disclosure: disclosure), emphasis, isWhole: isOneThing(value))
    }

    /// Whether a cut value could be mistaken for another value.
    private static func isOneThing(_ value: OutputValue) -> Bool {
        switch value {
        case .bool, .integer, .number, .date, .duration, .bytes: true
        case .text(let text): text.utf8.count == 36 && UUID(uuidString: text) != nil
        case .null, .personal, .list, .object: false
        }
    }

    /// The value as one safe line; null is an empty text.
    static func of(_ value: OutputValue, disclosure: Disclosure) -> String {
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
