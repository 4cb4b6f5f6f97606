/// Splits SQL text into statements without interpreting them.
package enum SQLText {
    /// The statements of a text without their semicolons; comments alone are not a statement.
    package static func statements(_ text: String) -> [String] {
        var scanner = Scanner(text)
        return scanner.statements()
    }

    private struct Scanner {
        private let bytes: [UInt8]
        private var index = 0

        init(_ text: String) {
            bytes = Array(text.utf8)
        }

        mutating func statements() -> [String] {
            var found: [String] = []
            var start = 0
            var hasWords = false
            // BEGIN ATOMIC … END and CASE … END nest; semicolons inside belong to the function's body.
            var depth = 0
            var previousWord = ""
            func end(_ at: Int) {
                if hasWords { found.append(trimmed(bytes[start..<at])) }
                hasWords = false
                depth = 0
                previousWord = ""
            }
            while index < bytes.count {
                let byte = bytes[index]
                switch byte {
                case UInt8(ascii: "-") where next == UInt8(ascii: "-"): skipLine()
                case UInt8(ascii: "/") where next == UInt8(ascii: "*"): skipComment()
                case UInt8(ascii: "'"):
                    // In E'…', a backslash escapes the next character.
                    skipQuoted(byte, escapes: previousIs(UInt8(ascii: "e"), UInt8(ascii: "E")))
                    hasWords = true
                case UInt8(ascii: "\""):
                    skipQuoted(byte, escapes: false)
                    hasWords = true
                case UInt8(ascii: "$"):
                    if !skipDollarQuoted() { index += 1 }
                    hasWords = true
                case UInt8(ascii: ";") where depth == 0:
                    end(index)
                    index += 1
                    start = index
                case _ where isWord(byte):
                    let word = readWord()
                    hasWords = true
                    if word == "atomic", previousWord == "begin" {
                        depth += 1
                    } else if word == "case", depth > 0 {
                        depth += 1
                    } else if word == "end", depth > 0 {
                        depth -= 1
                    }
                    previousWord = word
                default:
                    if byte > 0x20, byte != UInt8(ascii: ";") { hasWords = true }
                    index += 1
                }
            }
            end(bytes.count)
            return found
        }

        private var next: UInt8? { index + 1 < bytes.count ? bytes[index + 1] : nil }

        private func previousIs(_ first: UInt8, _ second: UInt8) -> Bool {
            guard index > 0, bytes[index - 1] == first || bytes[index - 1] == second else { return false }
            return index == 1 || !isWord(bytes[index - 2])
        }

        private mutating func skipLine() {
            while index < bytes.count, bytes[index] != UInt8(ascii: "\n") { index += 1 }
        }

        /// Skips a comment; unlike in C, comments nest.
        private mutating func skipComment() {
            var depth = 0
            while index < bytes.count {
                if bytes[index] == UInt8(ascii: "/"), next == UInt8(ascii: "*") {
                    depth += 1
                    index += 2
                } else if bytes[index] == UInt8(ascii: "*"), next == UInt8(ascii: "/") {
                    depth -= 1
                    index += 2
                    if depth == 0 { return }
                } else {
                    index += 1
                }
            }
        }

        private mutating func skipQuoted(_ quote: UInt8, escapes: Bool) {
            index += 1
            while index < bytes.count {
                if escapes, bytes[index] == UInt8(ascii: "\\") {
                    index += 2
                } else if bytes[index] == quote {
                    index += 1
                    // A doubled quote ends this piece and starts the next one, which gives the same result.
                    return
                } else {
                    index += 1
                }
            }
        }

        /// Skips `$$ … $$` or `$tag$ … $tag$`; false for a single dollar or a parameter.
        private mutating func skipDollarQuoted() -> Bool {
            var end = index + 1
            while end < bytes.count, isWord(bytes[end]), bytes[end] != UInt8(ascii: "$") { end += 1 }
            guard end < bytes.count, bytes[end] == UInt8(ascii: "$") else { return false }
            let tag = bytes[index...end]
            var position = end + 1
            while position + tag.count <= bytes.count {
                if bytes[position..<(position + tag.count)].elementsEqual(tag) {
                    index = position + tag.count
                    return true
                }
                position += 1
            }
            index = bytes.count
            return true
        }

        private mutating func readWord() -> String {
            let start = index
            while index < bytes.count, isWord(bytes[index]) { index += 1 }
            return String(decoding: bytes[start..<index], as: UTF8.self).lowercased()
        }

        private func isWord(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...:
                true
            default:
                false
            }
        }

        private func trimmed(_ slice: ArraySlice<UInt8>) -> String {
            let blanks: Set<UInt8> = [0x20, 0x0A, 0x0D, 0x09]
            var slice = slice
            while let first = slice.first, blanks.contains(first) { slice.removeFirst() }
            while let last = slice.last, blanks.contains(last) { slice.removeLast() }
            return String(decoding: slice, as: UTF8.self)
        }
    }
}
