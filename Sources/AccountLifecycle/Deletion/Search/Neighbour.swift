/// The characters beside a place in a text, and whether they continue a word there.
///
/// Only a letter of a script with upper and lower case or a decimal digit does; a combining mark counts as the
/// character that carries it. Quotes, blanks, dashes, symbols and emoji end a word, and so do letters of scripts
/// without case, which are written without blanks.
enum Neighbour {
    /// Whether the character before `start` is in a set; an escape of a URL or of JSON counts as the character it
    /// stands for.
    static func of(
        _ start: Int,
        in text: UnsafeRawBufferPointer,
        is isPart: (Unicode.Scalar) -> Bool
    ) -> Bool {
        var end = start
        while let (scalar, first) = EscapedSpelling.character(before: end, in: text) {
            guard scalar.isMark else { return isPart(scalar) }
            end = first
        }
        return false
    }

    /// Whether the character at `end` continues a word that ends there; a combining mark belongs to the word's last
    /// letter.
    static func makesLonger(at end: Int, in text: UnsafeRawBufferPointer) -> Bool {
        character(at: end, in: text).map { $0.isWord || $0.isMark } ?? false
    }

    /// The character that begins at `index`; nil at the end of the text.
    static func character(at index: Int, in text: UnsafeRawBufferPointer) -> Unicode.Scalar? {
        guard index < text.count else { return nil }
        return String(decoding: text[index..<min(index + 4, text.count)], as: UTF8.self).unicodeScalars.first
    }
}

extension Unicode.Scalar {
    /// A letter of a script with upper and lower case, or a decimal digit.
    var isWord: Bool {
        switch properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .decimalNumber: true
        default: false
        }
    }

    /// A combining mark, which belongs to the character before it.
    var isMark: Bool {
        switch properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark: true
        default: false
        }
    }
}
