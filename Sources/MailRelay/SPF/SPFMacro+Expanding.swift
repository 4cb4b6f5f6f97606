extension SPFMacro {
    /// The values that macros expand to.
    struct Values {
        /// The sender.
        let query: SPFQuery
        /// The domain whose policy is being evaluated; nil for the sender's own domain, which keeps the sender's
        /// spelling.
        let domain: DomainName?
        /// The validated name of the client, if one is known.
        let validatedName: DomainName?
        /// The host that receives the mail.
        let receiver: [UInt8]
        /// Seconds since 1970.
        let timestamp: Int64
    }

    /// Expands well-formed text.
    static func expand(_ text: Span<UInt8>, _ values: Values) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(text.count + 32)
        var index = 0
        while let percent = text.firstIndex(of: UInt8(ascii: "%"), from: index),
            let macro = SPFMacro(text, at: percent, letters: .all)
        {
            output.append(text.extracting(index..<percent))
            switch macro.letter {
            case UInt8(ascii: "%"): output.append(UInt8(ascii: "%"))
            case UInt8(ascii: "_"): output.append(UInt8(ascii: " "))
            case UInt8(ascii: "-"): output.append(contentsOf: "%20".utf8)
            default:
                let value = values.value(of: macro.letter)
                macro.append(value.span, to: &output)
            }
            index = macro.end
        }
        output.append(text.extracting(index...))
        return output
    }

    /// Appends the kept parts of a value in the macro's order, separated by dots.
    private func append(_ value: Span<UInt8>, to output: inout [UInt8]) {
        let kept = keptParts(of: value)
        guard isReversing else { return append(part: value.extracting(kept), to: &output) }
        var end = kept.upperBound
        while true {
            let start = startOfPart(endingAt: end, of: value)
            append(part: value.extracting(start..<end), to: &output)
            guard start > 0 else { return }
            output.append(UInt8(ascii: "."))
            end = start - 1
        }
    }

    /// The range of the kept parts: the last parts, or the first ones if the order is reversed.
    private func keptParts(of value: Span<UInt8>) -> Range<Int> {
        guard kept > 0 else { return value.indices }
        if isReversing {
            var end = endOfPart(startingAt: 0, of: value)
            for _ in 1..<kept where end < value.count { end = endOfPart(startingAt: end + 1, of: value) }
            return 0..<end
        }
        var start = startOfPart(endingAt: value.count, of: value)
        for _ in 1..<kept where start > 0 { start = startOfPart(endingAt: start - 1, of: value) }
        return start..<value.count
    }

    private func endOfPart(startingAt start: Int, of value: Span<UInt8>) -> Int {
        var end = start
        while end < value.count, !delimiters.contains(value[end]) { end += 1 }
        return end
    }

    private func startOfPart(endingAt end: Int, of value: Span<UInt8>) -> Int {
        var start = end
        while start > 0, !delimiters.contains(value[start - 1]) { start -= 1 }
        return start
    }

    /// Appends bytes, with delimiters replaced by dots; for a capital letter, percent-encodes all but RFC 3986's
    /// unreserved characters.
    private func append(part: Span<UInt8>, to output: inout [UInt8]) {
        guard isEscaping || !delimiters.isEmpty else { return output.append(part) }
        for index in part.indices {
            let byte = delimiters.contains(part[index]) ? UInt8(ascii: ".") : part[index]
            if isEscaping, !byte.isUnreserved {
                output.append(UInt8(ascii: "%"))
                output.append(UInt8(hexadecimal: byte >> 4))
                output.append(UInt8(hexadecimal: byte & 15))
            } else {
                output.append(byte)
            }
        }
    }
}

extension SPFMacro.Values {
    /// The value of a macro letter.
    fileprivate func value(of letter: UInt8) -> ArraySlice<UInt8> {
        switch letter {
        case UInt8(ascii: "s"): return query.sender
        case UInt8(ascii: "l"): return query.localPart
        case UInt8(ascii: "o"): return query.senderDomain
        case UInt8(ascii: "d"): return domain?.dottedBytes[...] ?? query.senderDomain
        case UInt8(ascii: "p"): return (validatedName?.dottedBytes ?? Array("unknown".utf8))[...]
        case UInt8(ascii: "h"): return query.helo
        case UInt8(ascii: "c"): return Array(query.address.description.utf8)[...]
        case UInt8(ascii: "r"): return receiver[...]
        case UInt8(ascii: "t"): return Array(String(timestamp).utf8)[...]
        case UInt8(ascii: "i"):
            var text: [UInt8] = []
            text.reserveCapacity(63)
            query.address.append(to: &text)
            return text[...]
        case UInt8(ascii: "v"):
            switch query.address {
            case .v4: return Array("in-addr".utf8)[...]
            case .v6: return Array("ip6".utf8)[...]
            }
        default: return []
        }
    }
}

extension UInt8 {
    /// Whether RFC 3986 (2.3) leaves the byte unencoded.
    fileprivate var isUnreserved: Bool {
        switch self {
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
        default: isLetterOrDigit
        }
    }
}
