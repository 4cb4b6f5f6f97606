/// Formats output values as JSON with sorted keys, RFC 3339 times, and no dependence on the machine.
package enum JSONText {
    /// One value on one line.
    package static func line(_ value: OutputValue, disclosure: Disclosure = .masked) -> String {
        var text = ""
        write(value, disclosure: disclosure, to: &text)
        return text
    }

    /// One value over several indented lines.
    static func pretty(_ value: OutputValue, disclosure: Disclosure = .masked) -> String {
        var text = ""
        write(value, disclosure: disclosure, indent: 0, to: &text)
        return text
    }

    private static func write(_ value: OutputValue, disclosure: Disclosure, indent: Int? = nil, to text: inout String) {
        switch value {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .integer(let value), .bytes(let value): text += String(value)
        case .number(let value): text += value.isFinite ? String(value) : "null"
        case .duration(let value): text += seconds(value)
        case .text(let value): quote(value, to: &text)
        case .date(let value): quote(Wording.rfc3339(value), to: &text)
        case .personal(let value): quote(disclosure.show(value), to: &text)
        case .list(let items):
            enclose("[", "]", items, indent: indent, to: &text) { item, inner, text in
                write(item, disclosure: disclosure, indent: inner, to: &text)
            }
        case .object(let members):
            enclose("{", "}", members.sorted { $0.key < $1.key }, indent: indent, to: &text) { member, inner, text in
                quote(member.key, to: &text)
                text += inner == nil ? ":" : ": "
                write(member.value, disclosure: disclosure, indent: inner, to: &text)
            }
        }
    }

    private static func enclose<Item>(
        _ opening: String,
        _ closing: String,
        _ items: [Item],
        indent: Int?,
        to text: inout String,
        _ body: (Item, Int?, inout String) -> Void
    ) {
        text += opening
        let inner = indent.map { $0 + 2 }
        for (index, item) in items.enumerated() {
            if index > 0 { text += "," }
            if let inner { text += "\n" + String(repeating: " ", count: inner) }
            body(item, inner, &text)
        }
        if let indent, !items.isEmpty { text += "\n" + String(repeating: " ", count: indent) }
        text += closing
    }

    private static func seconds(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
        if milliseconds % 1000 == 0 { return String(milliseconds / 1000) }
        return String(Double(milliseconds) / 1000)
    }

    /// Quotes a string as RFC 8259 requires, and also escapes everything unsafe on a terminal, so that JSON is as safe
    /// to show as a table.
    package static func quote(_ value: String, to text: inout String) {
        text += "\""
        var previous: Unicode.Scalar?
        for scalar in value.unicodeScalars {
            defer { previous = scalar }
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case _ where !SafeText.isHarmless(scalar, behind: previous):
                for unit in scalar.utf16 {
                    let digits = String(unit, radix: 16)
                    text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}
