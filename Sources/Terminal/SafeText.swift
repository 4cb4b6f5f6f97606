/// Makes untrusted text safe to show on a terminal.
///
/// A username may contain escape sequences, line breaks or characters that reverse the reading order, which could
/// retitle the window, hide a line or make one account look like another. Unsafe characters are shown in the form
/// `\u{1b}`.
package enum SafeText {
    /// The maximum number of combining marks on one character; further marks are escaped, so that no cell paints over
    /// its neighbours.
    private static let marksAllowed = 4

    /// The text on one line, with everything that a terminal would interpret escaped.
    package static func line(_ text: some StringProtocol) -> String {
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return String(text) }
        var result = ""
        result.reserveCapacity(text.utf8.count)
        var marks = 0
        var previous: Unicode.Scalar?
        for scalar in text.unicodeScalars {
            defer { previous = scalar }
            if scalar.properties.generalCategory.isMark {
                marks += 1
                if marks > marksAllowed {
                    result += escape(scalar)
                    continue
                }
            } else {
                marks = 0
            }
            if isHarmless(scalar, behind: previous) {
                result.unicodeScalars.append(scalar)
            } else {
                result += escape(scalar)
            }
        }
        return result
    }

    /// The text in quotes on one line, cut if it is very long.
    package static func quoted(_ text: some StringProtocol) -> String {
        "\"" + DisplayWidth.fit(line(text), columns: 200) + "\""
    }

    /// The text with its line breaks kept, for multi-line messages that contain untrusted text.
    package static func lines(_ text: some StringProtocol) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line($0) }.joined(separator: "\n")
    }

    /// Whether a terminal shows the character as itself, without hiding, reordering or ending anything.
    ///
    /// The only such list, used by tables, JSON and log lines. `previous` is the preceding character; nil at the start
    /// of a text.
    package static func isHarmless(_ scalar: Unicode.Scalar, behind previous: Unicode.Scalar?) -> Bool {
        if scalar.value < 0x7F { return scalar.value >= 0x20 }
        // A joiner or variation selector changes how the preceding character is shown; after ASCII it has no effect and
        // is invisible.
        if scalar == joiner || scalar.properties.isVariationSelector { return previous.map { !$0.isASCII } ?? false }
        return switch scalar.properties.generalCategory {
        // The other format characters hide or reorder text.
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned:
            false
        default:
            // Fillers and similar characters are invisible letters: names with and without them would look the same.
            scalar != emptyBraille && !scalar.properties.isDefaultIgnorableCodePoint
        }
    }

    /// The zero-width joiner, which is part of ordinary emoji and of several scripts.
    private static let joiner: Unicode.Scalar = "\u{200D}"
    private static let emptyBraille: Unicode.Scalar = "\u{2800}"

    private static func escape(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\n": "\\n"
        case "\r": "\\r"
        case "\t": "\\t"
        default: "\\u{" + String(scalar.value, radix: 16) + "}"
        }
    }
}

extension Unicode.GeneralCategory {
    fileprivate var isMark: Bool {
        switch self {
        case .nonspacingMark, .enclosingMark, .spacingMark: true
        default: false
        }
    }
}
