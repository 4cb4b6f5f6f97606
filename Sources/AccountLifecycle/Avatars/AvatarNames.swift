#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The texts by which accounts name objects, indexed by their ends.
///
/// ``AvatarTexts`` defines which texts these are.
///
/// A text names every object whose key it ends with, unless a letter or a digit precedes the key: bare keys, URLs of
/// any host and query parameters are treated alike, and `17.jpg` does not name `7.jpg`. A text counts as ending at its
/// end and before each `?`, `#` and `&`. It is taken as it is, with its escapes decoded, and with its path normalized
/// as by a browser. This keeps an unused object now and then, and deletes none that is in use.
///
/// The texts are stored one after another with their bytes reversed, so that sorting brings texts with the same ending
/// together.
package struct AvatarNames: Sendable {
    /// Texts that are being collected.
    struct Texts: Sendable {
        /// The texts reversed, each followed by a zero byte.
        fileprivate var bytes: [UInt8] = []
        /// The offsets in `bytes` at which an end of a text is.
        fileprivate var ends: [Int] = []

        init() {}

        /// Adds a text of an account.
        mutating func insert(_ text: String) {
            let bytes = Array(text.utf8)
            var spellings: Set<[UInt8]> = []
            // Forms encode spaces as plus signs.
            for var spelling in [bytes, bytes.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }] {
                spellings.insert(spelling)
                // A URL in a parameter of another URL is escaped twice. The result of every pass is kept: a key right
                // after an escape has no boundary before it until the escape is decoded, as the escape's last digit may
                // be a letter.
                for _ in 0..<Self.mostEscapes where spelling.contains(UInt8(ascii: "%")) {
                    spelling = Self.unescaped(spelling)
                    spellings.insert(spelling)
                }
            }
            for spelling in spellings where !spelling.isEmpty {
                append(spelling)
                if !Self.isTidy(spelling) { append(Self.tidied(spelling)) }
            }
        }

        private mutating func append(_ text: [UInt8]) {
            let end = bytes.count + text.count
            ends.append(bytes.count)
            ends += text.indices.lazy.filter { Self.marks.contains(text[$0]) }.prefix(Self.mostMarks).map { end - $0 }
            bytes += text.reversed()
            bytes.append(0)
        }

        /// What follows one of these in a URL does not tell which file it names.
        private static let marks = Array("?#&".utf8)
        /// How many levels of escaping are decoded at most.
        private static let mostEscapes = 4
        /// Marks examined per text; more only occur in hostile input.
        private static let mostMarks = 32

        /// Whether a browser would request the path unchanged, which holds for nearly all.
        private static func isTidy(_ text: [UInt8]) -> Bool {
            var (last, lastButOne): (UInt8, UInt8) = (0, 0)
            for byte in text {
                switch byte {
                case UInt8(ascii: "\\"), 0x09, 0x0A, 0x0D: return false
                case UInt8(ascii: "/") where last == UInt8(ascii: "/") && lastButOne != UInt8(ascii: ":"): return false
                case UInt8(ascii: ".") where last == UInt8(ascii: "/"): return false
                default: break
                }
                (lastButOne, last) = (last, byte)
            }
            return last > UInt8(ascii: " ")
        }

        /// The text with its path normalized as by a browser, and likewise each part after it, which may contain
        /// another path.
        private static func tidied(_ text: [UInt8]) -> [UInt8] {
            let path = text.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
            var tidied = tidiedPath(path)
            var rest = text[path.endIndex...]
            while let mark = rest.popFirst() {
                let part = rest.prefix { !marks.contains($0) }
                tidied.append(mark)
                tidied += tidiedPath(part)
                rest = rest[part.endIndex...]
            }
            return tidied
        }

        /// A path without tabs, line breaks and trailing spaces, with backslashes turned into slashes, repeated slashes
        /// merged and dot segments resolved.
        private static func tidiedPath(_ text: ArraySlice<UInt8>) -> [UInt8] {
            let (slash, colon) = (UInt8(ascii: "/"), UInt8(ascii: ":"))
            var bytes: [UInt8] = []
            for byte in text where byte != 0x09 && byte != 0x0A && byte != 0x0D {
                let byte = byte == UInt8(ascii: "\\") ? slash : byte
                // The two slashes after a scheme's colon stay.
                if byte == slash, bytes.last == slash, bytes.dropLast().last != colon { continue }
                bytes.append(byte)
            }
            while let last = bytes.last, last <= UInt8(ascii: " ") { bytes.removeLast() }
            guard zip(bytes, bytes.dropFirst()).contains(where: { $0 == slash && $1 == UInt8(ascii: ".") }) else {
                return bytes
            }
            var segments: [ArraySlice<UInt8>] = []
            for segment in bytes.split(separator: slash, omittingEmptySubsequences: false) {
                switch Array(segment) {
                case Array(".".utf8): break
                case Array("..".utf8): _ = segments.popLast()
                default: segments.append(segment)
                }
            }
            return Array(segments.joined(separator: [slash]))
        }

        /// The bytes with percent escapes decoded.
        static func unescaped(_ text: [UInt8]) -> [UInt8] {
            guard text.contains(UInt8(ascii: "%")) else { return text }
            var bytes: [UInt8] = []
            var rest = text[...]
            while let byte = rest.popFirst() {
                if byte == UInt8(ascii: "%"), let high = rest.first?.hexValue,
                    let low = rest.dropFirst().first?.hexValue
                {
                    rest = rest.dropFirst(2)
                    bytes.append(high << 4 | low)
                } else {
                    bytes.append(byte)
                }
            }
            return bytes
        }
    }

    /// The most bytes of a key, by Storage's rule.
    static let longestKey = 1024

    private let bytes: [UInt8]
    /// The ends, sorted by the reversed text that precedes them.
    private let ends: [Int]

    init(_ texts: Texts) {
        bytes = texts.bytes
        ends = texts.bytes.withUnsafeBufferPointer { bytes in
            guard let start = bytes.baseAddress else { return [] }
            // Compares up to the longest key and one byte more, its boundary.
            return texts.ends.sorted { strncmp(start + $0, start + $1, Self.longestKey + 1) < 0 }
        }
    }

    package init(_ texts: some Sequence<String>) {
        var gathered = Texts()
        for text in texts { gathered.insert(text) }
        self.init(gathered)
    }

    /// Whether some text names the object with this key.
    package func contains(_ key: String) -> Bool {
        let key = Array(key.utf8.reversed())
        // Storage allows no such key; should one exist, it is kept, since nothing shows that it is unused.
        guard key.count <= Self.longestKey, !key.contains(0) else { return true }
        return bytes.withUnsafeBufferPointer { bytes in
            guard let start = bytes.baseAddress else { return false }
            return Self.boundaries.contains { boundary in
                let sought = key + [boundary]
                var (low, high) = (0, ends.count)
                while low < high {
                    let middle = low + (high - low) / 2
                    let isBefore = strncmp(start + ends[middle], sought, sought.count) < 0
                    (low, high) = isBefore ? (middle + 1, high) : (low, middle)
                }
                guard low < ends.count, strncmp(start + ends[low], key, key.count) == 0 else { return false }
                return !bytes[ends[low] + key.count].isASCIIAlphanumeric
            }
        }
    }

    /// The first bytes of the ranges that are neither letters nor digits; the first range includes the zero that stands
    /// for the start of a text.
    private static let boundaries = [0, UInt8(ascii: "9") + 1, UInt8(ascii: "Z") + 1, UInt8(ascii: "z") + 1]
}
