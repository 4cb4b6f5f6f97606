/// One SPF macro in a text (RFC 7208, 7.1).
struct SPFMacro {
    /// The macro letter in lower case; for a macro without braces, the byte after the percent sign.
    let letter: UInt8
    /// Whether the value is percent-encoded, which a capital letter requests.
    let isEscaping: Bool
    /// How many parts are kept, counted from the right; 0 keeps all.
    let kept: Int
    /// Whether the parts are reversed.
    let isReversing: Bool
    /// The bytes that separate the value's parts.
    let delimiters: Delimiters
    /// The position after the macro.
    let end: Int

    /// The set of letters that a macro may use.
    enum Letters {
        /// The letters allowed in domains.
        case inDomains
        /// Those letters plus the ones for explanations: c, r and t.
        case all
    }

    /// Whether the macro is the client's validated name, which costs lookups.
    var isValidatedName: Bool { letter == UInt8(ascii: "p") }

    /// Parses the macro that begins with the percent sign at `start`; nil if there is no valid macro there.
    init?(_ text: Span<UInt8>, at start: Int, letters: Letters) {
        var index = start + 1
        guard index < text.count else { return nil }
        switch text[index] {
        case UInt8(ascii: "%"), UInt8(ascii: "_"), UInt8(ascii: "-"):
            letter = text[index]
            isEscaping = false
            kept = 0
            isReversing = false
            delimiters = Delimiters()
            end = index + 1
            return
        case UInt8(ascii: "{"): index += 1
        default: return nil
        }
        guard index < text.count, Self.isLetter(text[index].lowercasedASCII, letters) else { return nil }
        letter = text[index].lowercasedASCII
        isEscaping = letter != text[index]
        index += 1
        let digits = index
        var number = 0
        while index < text.count, text[index].isDigit {
            number = min(number * 10 + Int(text[index] - 0x30), 1000)
            index += 1
        }
        guard index == digits || number > 0 else { return nil }
        kept = number
        isReversing = index < text.count && text[index].lowercasedASCII == UInt8(ascii: "r")
        if isReversing { index += 1 }
        var delimiters = Delimiters()
        while index < text.count, delimiters.insert(text[index]) { index += 1 }
        guard index < text.count, text[index] == UInt8(ascii: "}") else { return nil }
        self.delimiters = delimiters
        end = index + 1
    }

    private static func isLetter(_ letter: UInt8, _ letters: Letters) -> Bool {
        switch letter {
        case UInt8(ascii: "s"), UInt8(ascii: "l"), UInt8(ascii: "o"), UInt8(ascii: "d"), UInt8(ascii: "i"),
            UInt8(ascii: "p"), UInt8(ascii: "h"), UInt8(ascii: "v"):
            true
        case UInt8(ascii: "c"), UInt8(ascii: "r"), UInt8(ascii: "t"): letters == .all
        default: false
        }
    }

    /// A set of delimiter bytes, with one bit for each, counted from the lowest of them.
    struct Delimiters {
        private var bits: UInt64 = 0

        var isEmpty: Bool { bits == 0 }

        /// The bit of a byte; all delimiters lie between the plus sign and the underscore.
        private static func bit(_ byte: UInt8) -> UInt64 {
            1 << UInt64(byte &- UInt8(ascii: "+"))
        }

        /// Adds a byte; returns false if it is not a delimiter.
        mutating func insert(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: ","), UInt8(ascii: "/"),
                UInt8(ascii: "_"), UInt8(ascii: "="):
                bits |= Self.bit(byte)
                return true
            default: return false
            }
        }

        /// Whether the byte is a delimiter; the dot is the default.
        func contains(_ byte: UInt8) -> Bool {
            isEmpty ? byte == UInt8(ascii: ".") : bits & Self.bit(byte) != 0
        }
    }
}

// MARK: Checking

extension SPFMacro {
    /// Whether every percent sign begins a valid macro.
    static func isWellFormed(_ text: Span<UInt8>, letters: Letters) -> Bool {
        var index = 0
        while let percent = text.firstIndex(of: UInt8(ascii: "%"), from: index) {
            guard let macro = SPFMacro(text, at: percent, letters: letters) else { return false }
            index = macro.end
        }
        return true
    }

    /// Whether well-formed text ends with a macro.
    static func endsInMacro(_ text: Span<UInt8>) -> Bool {
        var index = 0
        while let percent = text.firstIndex(of: UInt8(ascii: "%"), from: index) {
            guard let macro = SPFMacro(text, at: percent, letters: .all) else { return false }
            index = macro.end
        }
        return index > 0 && index == text.count
    }

    /// Whether well-formed text uses the client's validated name.
    static func asksForValidatedName(_ text: Span<UInt8>) -> Bool {
        var index = 0
        while let percent = text.firstIndex(of: UInt8(ascii: "%"), from: index),
            let macro = SPFMacro(text, at: percent, letters: .all)
        {
            if macro.isValidatedName { return true }
            index = macro.end
        }
        return false
    }
}
