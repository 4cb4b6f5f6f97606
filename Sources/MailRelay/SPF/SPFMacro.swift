/// Macros of SPF (RFC 7208, 7): checking and expanding.
enum SPFMacro {
    /// Which letters may stand in a macro.
    enum Letters {
        /// Those of a domain.
        case inDomains
        /// Those of an explanation as well: c, r and t.
        case all
    }

    /// What macros expand to.
    struct Values {
        /// The sender.
        let query: SPFQuery
        /// The domain whose policy is being evaluated; the sender's own as the sender writes it.
        let domain: ArraySlice<UInt8>
        /// The validated name of the client, if one is known.
        let validatedName: DomainName?
        /// Who receives the mail.
        let receiver: [UInt8]
        /// Seconds since 1970.
        let timestamp: Int64
    }

    /// Whether every percent sign begins a macro, and every macro is one.
    static func isWellFormed(_ text: ArraySlice<UInt8>, letters: Letters) -> Bool {
        var index = text.startIndex
        while index < text.endIndex {
            guard text[index] == UInt8(ascii: "%") else {
                index += 1
                continue
            }
            guard let end = endOfMacro(text, at: index, letters: letters) else { return false }
            index = end
        }
        return true
    }

    /// Whether well-formed text ends with a macro.
    static func endsInMacro(_ text: ArraySlice<UInt8>) -> Bool {
        var index = text.startIndex
        while index < text.endIndex {
            guard text[index] == UInt8(ascii: "%") else {
                index += 1
                continue
            }
            guard let end = endOfMacro(text, at: index, letters: .all) else { return false }
            if end == text.endIndex { return true }
            index = end
        }
        return false
    }

    /// Whether well-formed text asks for the validated name of the client, which costs lookups.
    static func asksForValidatedName(_ text: ArraySlice<UInt8>) -> Bool {
        var index = text.startIndex
        while let percent = text[index...].firstIndex(of: UInt8(ascii: "%")),
            let end = endOfMacro(text, at: percent, letters: .all)
        {
            // Two bytes are an escape, such as that of the percent sign; a letter stands in braces.
            if end - percent > 2, text[percent + 2].lowercasedASCII == UInt8(ascii: "p") { return true }
            index = end
        }
        return false
    }

    /// Expands well-formed text.
    static func expand(_ text: ArraySlice<UInt8>, _ values: Values) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(text.count + 32)
        var index = text.startIndex
        while let percent = text[index...].firstIndex(of: UInt8(ascii: "%")), percent + 1 < text.endIndex {
            output += text[index..<percent]
            index = percent + 2
            switch text[percent + 1] {
            case UInt8(ascii: "%"): output.append(UInt8(ascii: "%"))
            case UInt8(ascii: "_"): output.append(UInt8(ascii: " "))
            case UInt8(ascii: "-"): output.append(contentsOf: "%20".utf8)
            default:
                let end = text[index...].firstIndex(of: UInt8(ascii: "}")) ?? text.endIndex - 1
                expandBraces(text[index..<end], values, into: &output)
                index = end + 1
            }
        }
        output += text[index...]
        return output
    }

    /// The index behind the macro that begins at `index`; nil when none begins there.
    private static func endOfMacro(_ text: ArraySlice<UInt8>, at index: Int, letters: Letters) -> Int? {
        var index = index + 1
        guard index < text.endIndex else { return nil }
        switch text[index] {
        case UInt8(ascii: "%"), UInt8(ascii: "_"), UInt8(ascii: "-"): return index + 1
        case UInt8(ascii: "{"): index += 1
        default: return nil
        }
        guard index < text.endIndex else { return nil }
        switch text[index].lowercasedASCII {
        case UInt8(ascii: "s"), UInt8(ascii: "l"), UInt8(ascii: "o"), UInt8(ascii: "d"), UInt8(ascii: "i"),
            UInt8(ascii: "p"), UInt8(ascii: "h"), UInt8(ascii: "v"):
            break
        case UInt8(ascii: "c"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            guard letters == .all else { return nil }
        default: return nil
        }
        index += 1
        let digitsStart = index
        var number = 0
        while index < text.endIndex, text[index] >= 0x30, text[index] <= 0x39 {
            number = min(number * 10 + Int(text[index] - 0x30), 1000)
            index += 1
        }
        guard digitsStart == index || number > 0 else { return nil }
        if index < text.endIndex, text[index].lowercasedASCII == UInt8(ascii: "r") { index += 1 }
        while index < text.endIndex, isDelimiter(text[index]) { index += 1 }
        guard index < text.endIndex, text[index] == UInt8(ascii: "}") else { return nil }
        return index + 1
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: ","), UInt8(ascii: "/"),
            UInt8(ascii: "_"), UInt8(ascii: "="):
            true
        default: false
        }
    }

    /// Expands what stands between the braces.
    private static func expandBraces(_ macro: ArraySlice<UInt8>, _ values: Values, into output: inout [UInt8]) {
        guard let letter = macro.first else { return }
        let value = value(of: letter.lowercasedASCII, values)
        var count = 0
        var reverses = false
        var delimiters: [UInt8] = []
        for byte in macro.dropFirst() {
            switch byte {
            case 0x30...0x39: count = min(count * 10 + Int(byte - 0x30), 1000)
            case UInt8(ascii: "r"), UInt8(ascii: "R"): reverses = true
            default: delimiters.append(byte)
            }
        }
        var parts = [value.indices]
        if count > 0 || reverses || !delimiters.isEmpty {
            parts = ranges(of: value, between: delimiters.isEmpty ? [UInt8(ascii: ".")] : delimiters)
            if reverses { parts.reverse() }
            if count > 0 { parts.removeFirst(max(0, parts.count - count)) }
        }
        for (index, part) in parts.enumerated() {
            if index > 0 { output.append(UInt8(ascii: ".")) }
            if letter == letter.lowercasedASCII {
                output += value[part]
            } else {
                appendEscaped(value[part], to: &output)
            }
        }
    }

    /// Where the parts stand that delimiters divide a value into, empty ones included.
    private static func ranges(of value: ArraySlice<UInt8>, between delimiters: [UInt8]) -> [Range<Int>] {
        var parts: [Range<Int>] = []
        parts.reserveCapacity(32)
        var start = value.startIndex
        for index in value.indices where delimiters.contains(value[index]) {
            parts.append(start..<index)
            start = index + 1
        }
        parts.append(start..<value.endIndex)
        return parts
    }

    private static func value(of letter: UInt8, _ values: Values) -> ArraySlice<UInt8> {
        let query = values.query
        return switch letter {
        case UInt8(ascii: "s"): query.localPart + [UInt8(ascii: "@")] + query.senderDomain
        case UInt8(ascii: "l"): query.localPart
        case UInt8(ascii: "o"): query.senderDomain
        case UInt8(ascii: "d"): values.domain
        case UInt8(ascii: "i"): dotted(query.address)[...]
        case UInt8(ascii: "p"): (values.validatedName?.dottedBytes ?? Array("unknown".utf8))[...]
        case UInt8(ascii: "h"): query.helo
        case UInt8(ascii: "c"): Array(query.address.description.utf8)[...]
        case UInt8(ascii: "r"): values.receiver[...]
        case UInt8(ascii: "t"): Array(String(values.timestamp).utf8)[...]
        case UInt8(ascii: "v"):
            switch query.address {
            case .v4: Array("in-addr".utf8)[...]
            case .v6: Array("ip6".utf8)[...]
            }
        default: []
        }
    }

    /// The `i` macro: octets for IPv4, single hexadecimal digits for IPv6.
    private static func dotted(_ address: IPAddress) -> [UInt8] {
        switch address {
        case .v4(let address): return Array(address.description.utf8)
        case .v6(let address):
            var output: [UInt8] = []
            output.reserveCapacity(63)
            for half in [address.high, address.low] {
                for shift in stride(from: UInt64(60), through: 0, by: -4) {
                    if !output.isEmpty { output.append(UInt8(ascii: ".")) }
                    output.append(IPAddress.hexDigits[Int(half >> shift & 15)])
                }
            }
            return output
        }
    }

    /// Appends as a capital letter in a macro asks: everything but RFC 3986's unreserved characters percent-encoded.
    private static func appendEscaped(_ value: ArraySlice<UInt8>, to output: inout [UInt8]) {
        for byte in value {
            if byte.isLetterOrDigit || "-._~".utf8.contains(byte) {
                output.append(byte)
            } else {
                output.append(UInt8(ascii: "%"))
                output.append(IPAddress.hexDigits[Int(byte >> 4)])
                output.append(IPAddress.hexDigits[Int(byte & 15)])
            }
        }
    }
}
