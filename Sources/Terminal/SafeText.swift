/// Text from outside made harmless for a terminal.
///
/// A username may hold escape sequences, line breaks or characters that reverse the reading order; on a terminal they
/// could retitle the window, hide a line or make one account look like another. What cannot be shown as itself is shown
/// as `\u{1b}`.
package enum SafeText {
    /// Marks that may be stacked on one character before the rest is spelled out, so that no cell paints over its
    /// neighbours.
    private static let marksAllowed = 4

    /// The text on one line, with everything a terminal would act on spelled out.
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

    /// The text in quotes on one line, for a sentence about it: of a very long one the start.
    package static func quoted(_ text: some StringProtocol) -> String {
        "\"" + DisplayWidth.fit(line(text), columns: 200) + "\""
    }

    /// The text with its line breaks kept, for messages of several lines that hold foreign text.
    package static func lines(_ text: some StringProtocol) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line($0) }.joined(separator: "\n")
    }

    /// Whether a terminal shows the character as itself, and it neither hides, reorders nor ends anything.
    ///
    /// The one list for tables, JSON and log lines. `previous` is what stands before it; nil at the start of a text.
    package static func isHarmless(_ scalar: Unicode.Scalar, behind previous: Unicode.Scalar?) -> Bool {
        if scalar.value < 0x7F { return scalar.value >= 0x20 }
        // It says how what stands before it is shown: behind ASCII it says nothing, and is not seen.
        if scalar == joiner || scalar.properties.isVariationSelector { return previous.map { !$0.isASCII } ?? false }
        return switch scalar.properties.generalCategory {
        // Of format characters the others hide or reorder.
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned:
            false
        default:
            // Fillers and the like are letters that nobody sees: two names with and without them would look the same.
            scalar != emptyBraille && !scalar.properties.isDefaultIgnorableCodePoint
        }
    }

    /// Zero-width joiner: part of ordinary emoji and of several scripts.
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
