/// A macro of SPF as it stands in a text (RFC 7208, 7.1).
struct SPFMacro {
    /// What it stands for, in lower case; the byte behind the percent sign for those without braces.
    let letter: UInt8
    /// Whether what it stands for is percent-encoded, as a capital letter asks.
    let isEscaping: Bool
    /// How many parts are kept, from the right; 0 for all.
    let kept: Int
    /// Whether the parts are turned round.
    let isReversing: Bool
    /// What divides the value into parts.
    let delimiters: Delimiters
    /// Where the text goes on.
    let end: Int

    /// Which letters may stand in a macro.
    enum Letters {
        /// The letters that stand in domains.
        case inDomains
        /// These, and the letters of explanations as well: c, r and t.
        case all
    }

    /// Whether it stands for the validated name of the client, which costs lookups.
    var isValidatedName: Bool { letter == UInt8(ascii: "p") }

    /// Reads the macro that begins with the percent sign at `start`; nil when none begins there.
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

    /// Bytes that divide values: a bit each, counted from the lowest of them.
    struct Delimiters {
        private var bits: UInt64 = 0

        var isEmpty: Bool { bits == 0 }

        /// A byte between the plus sign and the underscore, which all delimiters are.
        private static func bit(_ byte: UInt8) -> UInt64 {
            1 << UInt64(byte &- UInt8(ascii: "+"))
        }

        /// Adds a byte; false when it is no delimiter.
        mutating func insert(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: ","), UInt8(ascii: "/"),
                UInt8(ascii: "_"), UInt8(ascii: "="):
                bits |= Self.bit(byte)
                return true
            default: return false
            }
        }

        /// Whether the byte divides; the dot where none is named.
        func contains(_ byte: UInt8) -> Bool {
            isEmpty ? byte == UInt8(ascii: ".") : bits & Self.bit(byte) != 0
        }
    }
}

// MARK: Checking

extension SPFMacro {
    /// Whether every percent sign begins a macro, and every macro is one.
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

    /// Whether well-formed text asks for the validated name of the client.
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
