/// A `name=value; name=value` list, the format of DKIM keys and DMARC records (RFC 6376, 3.2).
struct TagList: Sendable, Hashable {
    /// The tags in order; values without surrounding white space.
    let tags: [Tag]
    /// The parts that a lenient parse skipped, in order.
    let skipped: [Problem]

    /// One tag.
    struct Tag: Sendable, Hashable {
        /// The name as written; names are case-sensitive.
        let name: String
        /// The value as written, including inner white space.
        let value: [UInt8]
    }

    /// A defect of a list.
    enum Problem: Error, Sendable, Hashable {
        /// A part without an equals sign, or with a malformed name.
        case malformedTag(String)
        /// A name that occurs twice.
        case duplicate(String)
        /// A byte that a value must not contain.
        case badByte(String)
    }

    /// Parses a list; one trailing semicolon is allowed.
    init(_ text: [UInt8]) throws(Problem) {
        let list = TagList(lenient: text)
        if let problem = list.skipped.first { throw problem }
        self = list
    }

    /// Parses a list leniently: the first tag of a name counts, and malformed parts are skipped.
    init(lenient text: [UInt8]) {
        var tags: [Tag] = []
        var skipped: [Problem] = []
        let parts = text.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            let trimmed = part.trimmed
            if trimmed.isEmpty, index == parts.count - 1 { break }
            do throws(Problem) {
                let tag = try Tag(trimmed)
                guard !tags.contains(where: { $0.name == tag.name }) else { throw .duplicate(tag.name) }
                tags.append(tag)
            } catch {
                skipped.append(error)
            }
        }
        self.tags = tags
        self.skipped = skipped
    }

    /// The value of a tag; nil if the tag is missing.
    subscript(name: String) -> [UInt8]? {
        tags.first { $0.name == name }?.value
    }

    /// The value of a tag as text; nil if the tag is missing.
    func text(_ name: String) -> String? {
        self[name].map { String(decoding: $0, as: UTF8.self) }
    }

    /// The lower-cased elements of a tag's value, split at a separator; nil if the tag is missing.
    func words(_ name: String, separator: UInt8 = UInt8(ascii: ":")) -> [String]? {
        self[name].map { value in
            value.split(separator: separator).map { part in
                String(decoding: part.trimmed.map(\.lowercasedASCII), as: UTF8.self)
            }
        }
    }
}

extension TagList.Tag {
    fileprivate init(_ part: ArraySlice<UInt8>) throws(TagList.Problem) {
        guard let equals = part.firstIndex(of: UInt8(ascii: "=")) else {
            throw .malformedTag(PrintableBytes.escaped(part))
        }
        let name = part[..<equals].trimmed
        guard let first = name.first, first.isLetter,
            name.allSatisfy({ $0.isLetterOrDigit || $0 == UInt8(ascii: "_") })
        else { throw .malformedTag(PrintableBytes.escaped(part)) }
        let value = part[(equals + 1)...].trimmed
        guard value.allSatisfy({ ($0 >= 0x21 && $0 <= 0x7E) || $0.isWhiteSpace }) else {
            throw .badByte(PrintableBytes.escaped(part))
        }
        self.init(name: String(decoding: name, as: UTF8.self), value: Array(value))
    }
}

extension UInt8 {
    /// A space, tab, or line end.
    var isWhiteSpace: Bool { self == 0x20 || self == 0x09 || self == 0x0D || self == 0x0A }
}

extension ArraySlice<UInt8> {
    /// The slice without white space at its ends.
    var trimmed: ArraySlice<UInt8> {
        var slice = self
        while let first = slice.first, first.isWhiteSpace { slice.removeFirst() }
        while let last = slice.last, last.isWhiteSpace { slice.removeLast() }
        return slice
    }
}
