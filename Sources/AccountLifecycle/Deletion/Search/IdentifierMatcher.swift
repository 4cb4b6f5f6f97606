/// Finds many identifiers at once in a text, in any case, without mistaking a part of a longer word for one.
///
/// Wu and Manber's algorithm: a window as long as the shortest pattern, but at most eight bytes, slides over the text,
/// and a table of all pairs of bytes says how far it can jump. Most bytes are never looked at, and the cost hardly
/// grows with the number of patterns.
package struct IdentifierMatcher: Sendable {
    /// Where an identifier was found.
    package struct Match: Sendable, Hashable {
        /// The index of the identifier among those with which the matcher was created.
        package let identifier: Int
        /// Where the match begins, in bytes.
        let offset: Int
    }

    package let identifiers: [Identifier]

    private let patterns: [(pattern: IdentifierPattern, identifier: Int)]
    /// How many bytes at the start of each pattern take part in the search.
    private let window: Int
    /// How far the window may move, by its last two bytes; 0 means that a pattern may match here.
    private let shifts: [UInt8]
    /// Which patterns may match here, by the same two bytes.
    private let candidates: [UInt16: [Int]]

    /// Creates a matcher; without identifiers it finds nothing.
    package init(_ identifiers: [Identifier]) {
        self.identifiers = identifiers
        patterns = identifiers.indices.flatMap { index in
            IdentifierPattern.patterns(of: identifiers[index]).map { ($0, index) }
        }
        // Beyond eight bytes longer jumps no longer pay, and the first eight of a user id are the same in both forms.
        window = min(8, patterns.map(\.pattern.bytes.count).min() ?? 8)
        var shifts = [UInt8](repeating: UInt8(max(window - 1, 1)), count: 1 << 16)
        var candidates: [UInt16: [Int]] = [:]
        for (index, entry) in patterns.enumerated() {
            let bytes = entry.pattern.bytes
            for position in 1..<max(window, 1) {
                let jump = UInt8(window - 1 - position)
                for pair in Self.cases(bytes[position - 1], bytes[position]) {
                    shifts[Int(pair)] = min(shifts[Int(pair)], jump)
                    if jump == 0 { candidates[pair, default: []].append(index) }
                }
            }
        }
        self.shifts = shifts
        self.candidates = candidates
    }

    /// Calls `found` for each identifier in the text, in order of place; one place may hold several.
    package func forEachMatch(in text: UnsafeRawBufferPointer, _ found: (Match) -> Void) {
        guard !patterns.isEmpty, text.count >= window else { return }
        let count = text.count
        shifts.withUnsafeBufferPointer { shifts in
            var end = window - 1
            while end < count {
                let pair = UInt16(text[end - 1]) << 8 | UInt16(text[end])
                let shift = shifts[Int(pair)]
                if shift > 0 {
                    end += Int(shift)
                    continue
                }
                let start = end - (window - 1)
                if let indices = candidates[pair] {
                    for index in indices where patterns[index].pattern.matches(text, at: start) {
                        found(Match(identifier: patterns[index].identifier, offset: start))
                    }
                }
                end += 1
            }
        }
    }

    /// The matches in a text.
    package func matches(in text: String) -> [Match] {
        var matches: [Match] = []
        var copy = text
        copy.withUTF8 { bytes in
            forEachMatch(in: UnsafeRawBufferPointer(bytes)) { matches.append($0) }
        }
        return matches
    }

    /// A pair of bytes in every combination of upper and lower case, as keys of the tables.
    private static func cases(_ first: UInt8, _ second: UInt8) -> Set<UInt16> {
        func both(_ byte: UInt8) -> [UInt8] {
            byte &- 97 < 26 ? [byte, byte & ~0x20] : [byte]
        }
        return Set(both(first).flatMap { one in both(second).map { UInt16(one) << 8 | UInt16($0) } })
    }
}
