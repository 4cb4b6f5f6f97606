/// Text in the macros of man(7), with everything escaped that the formatter would read as a request.
struct Roff {
    private var lines: [String] = []

    /// The page so far.
    var text: String { lines.joined(separator: "\n") + "\n" }

    /// Escapes backslashes, which the formatter interprets, and hyphens, at which it may break a line or print another
    /// dash.
    static func escaped(_ text: String) -> String {
        text.reduce(into: "") { result, character in
            switch character {
            case "\\": result += "\\e"
            case "-": result += "\\-"
            case "\"": result += "\\(dq"
            case "'": result += "\\(aq"
            case "^": result += "\\(ha"
            case "`": result += "\\(ga"
            case "~": result += "\\(ti"
            default: result.append(character)
            }
        }
    }

    /// Adds a line that is a macro or is already escaped.
    mutating func macro(_ line: String) { lines.append(line) }

    /// Starts a section.
    mutating func section(_ title: String) { lines.append(".SH \"\(Self.escaped(title))\"") }

    /// Adds a line of running text.
    mutating func text(_ text: String) { lines.append(Self.line(text)) }

    /// Adds a paragraph.
    mutating func paragraph(_ text: String) { lines += [".PP", Self.line(text)] }

    /// Adds an item of a list: its head, and its meaning after it.
    mutating func item(_ head: String, _ text: String) {
        item(escaped: "\\fB\(Self.escaped(head))\\fP", text)
    }

    /// Adds an item whose head is already escaped.
    mutating func item(escaped head: String, _ text: String) {
        lines += [".TP", head, Self.line(text)]
    }

    /// Adds lines that are not filled.
    mutating func verbatim(_ text: [String]) {
        lines += [".PP", ".nf", ".RS"] + text.map(Self.line) + [".RE", ".fi"]
    }

    /// Protects a line that begins with a full stop, which would make it a macro, and an empty line, which would add
    /// space.
    private static func line(_ text: String) -> String {
        let escaped = escaped(text)
        return escaped.isEmpty || escaped.hasPrefix(".") ? "\\&" + escaped : escaped
    }
}
