/// The number of terminal columns that a text takes.
package enum DisplayWidth {
    /// The columns of a text that is already safe to show (see ``SafeText``).
    package static func of(_ text: some StringProtocol) -> Int {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
        return text.reduce(0) { $0 + of($1) }
    }

    /// The columns of the widest of some names.
    package static func ofWidest<Name: RawRepresentable<String>>(_ names: [Name]) -> Int {
        names.map { of($0.rawValue) }.max() ?? 0
    }

    /// The columns of one character: two for wide East Asian ones and emoji, none for a lone combining mark.
    static func of(_ character: Character) -> Int {
        guard let first = character.unicodeScalars.first else { return 0 }
        if first.value < 0x300 { return 1 }
        switch first.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        if first.properties.isEmojiPresentation || character.unicodeScalars.contains("\u{FE0F}") { return 2 }
        return isWide(first.value) ? 2 : 1
    }

    /// The longest prefix of the text that fits, ending in `…` if the text was cut.
    package static func fit(_ text: String, columns: Int) -> String {
        guard of(text) > columns else { return text }
        guard columns > 0 else { return "" }
        var result = ""
        var used = 1
        for character in text {
            let width = of(character)
            if used + width > columns { break }
            used += width
            result.append(character)
        }
        return result + "…"
    }

    /// The text in lines that fit, broken at blanks; a word is broken only if it fits on no line.
    package static func wrap(_ text: String, columns: Int) -> [String] {
        var lines: [String] = []
        var rest = text[...]
        while true {
            var end = rest.startIndex
            var used = 0
            while end < rest.endIndex, used + of(rest[end]) <= columns {
                used += of(rest[end])
                end = rest.index(after: end)
            }
            // A character that is wider than the whole column has a line of its own.
            if end == rest.startIndex, end < rest.endIndex { end = rest.index(after: end) }
            guard end < rest.endIndex else { return lines + [String(rest)] }
            let blank = rest[end] == " " ? end : rest[..<end].lastIndex(of: " ")
            if let blank, blank > rest.startIndex {
                lines.append(String(rest[..<blank]))
                rest = rest[rest.index(after: blank)...]
            } else {
                lines.append(String(rest[..<end]))
                rest = rest[end...]
            }
        }
    }

    /// The ranges that Unicode's East Asian Width property classifies as wide or full width.
    private static func isWide(_ value: UInt32) -> Bool {
        switch value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
            0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6,
            0x17000...0x18CFF, 0x1B000...0x1B2FF, 0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD:
            true
        default:
            false
        }
    }
}
