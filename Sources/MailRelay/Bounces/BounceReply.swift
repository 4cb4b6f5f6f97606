/// An SMTP reply that refused a mail, extracted from pasted text.
package struct BounceReply: Sendable, Hashable {
    /// The three-digit status, if any.
    package let status: Int?
    /// The enhanced code, such as 5.1.1, if any.
    package let enhancedCode: String?
    /// The text of the reply.
    let text: String
    /// The recipient, if a delivery-status message names one.
    package let recipient: String?
    /// The server that sent the reply, if known.
    package let server: String?

    /// The most bytes that are read: a reply is short, but a delivery-status message may carry the whole mail.
    static let maximumInput = 1 << 20

    /// Finds the replies in a text: the parts of a delivery-status message (RFC 3464), or the whole text as one reply.
    ///
    /// Returns an empty array for a text without words.
    package static func replies(in input: some Sequence<UInt8>) -> [BounceReply] {
        let text = String(decoding: Array(input.prefix(maximumInput)), as: UTF8.self)
        let lines = unfolded(text)
        let statuses = deliveryStatuses(lines)
        if !statuses.isEmpty { return statuses }
        let words = withoutHeader(lines).map { Array($0.utf8)[...].trimmed }.filter { !$0.isEmpty }
            .map { String(decoding: $0, as: UTF8.self) }
        guard !words.isEmpty else { return [] }
        return [BounceReply(words.joined(separator: " "), recipient: nil, server: nil, status: nil)]
    }

    private init(_ text: String, recipient: String?, server: String?, status: String?) {
        self.text = text
        self.recipient = recipient
        self.server = server
        let words = Self.words(of: text)
        self.status =
            words.lazy.compactMap { word -> Int? in
                guard word.utf8.count == 3, let number = Int(word), (400...599).contains(number) else { return nil }
                return number
            }.first
        // The code in the server's own text takes precedence: Exim reports 5.0.0 for everything. After the code of a
        // status, PowerMTA says in brackets what it means.
        let codes = (words + Self.words(of: status ?? "")).filter { Self.isEnhancedCode($0) }
        self.enhancedCode = codes.first.map(String.init)
    }

    private static func words(of text: String) -> [Substring] {
        text.split(whereSeparator: separates).map { word in
            // In the JSON of a provider's webhook, a number stands between these: `"code":550,`.
            var word = word.drop { $0 == ":" }
            while let last = word.last, ":,}]".contains(last) { word.removeLast() }
            return word
        }
    }

    /// Whether a character stands between a code and what mailers put around it: `smtp;550 5.1.1`, `'550-5.1.1`.
    ///
    /// Not parentheses, which often hold the version of a mail server.
    private static func separates(_ character: Character) -> Bool {
        switch character {
        case " ", "-", "\t", ";", "'", "\"", "#": true
        default: false
        }
    }

    private static func isEnhancedCode(_ word: Substring) -> Bool {
        let parts = word.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == "4" || parts[0] == "5" else { return false }
        return parts.allSatisfy { (1...3).contains($0.utf8.count) && $0.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 } }
    }

    /// Header lines, with continuation lines joined.
    private static func unfolded(_ text: String) -> [String] {
        var lines: [String] = []
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            // An empty line ends the fields before it, so a line after it is not a continuation.
            if let first = line.first, first == " " || first == "\t", lines.last?.isEmpty == false {
                // Appended in place: a mail may consist of half a million continuation lines.
                lines[lines.count - 1].append(" ")
                lines[lines.count - 1].append(contentsOf: line.drop { $0 == " " || $0 == "\t" })
            } else {
                lines.append(String(line))
            }
        }
        return lines
    }

    /// The lines after the header of a mail, if they begin with one, possibly as a mailbox holds it.
    ///
    /// The header is about the bounce itself: its `dmarc=pass` or its spam report is no part of the refusal.
    private static func withoutHeader(_ lines: [String]) -> ArraySlice<String> {
        let header = lines.drop { $0.isEmpty || $0.hasPrefix("From ") }.prefix { !$0.isEmpty }
        let names = header.map { line in line.firstIndex(of: ":").map { line[..<$0].lowercased() } ?? " " }
        let isHeader = names.contains("from") && names.allSatisfy { !$0.contains(" ") }
        return isHeader ? lines[header.endIndex...] : lines[...]
    }

    /// The per-recipient parts of a delivery-status message that have a diagnostic code.
    private static func deliveryStatuses(_ lines: [String]) -> [BounceReply] {
        var replies: [BounceReply] = []
        var fields: [String: String] = [:]
        for line in lines + [""] {
            guard let colon = line.firstIndex(of: ":"), !line.isEmpty else {
                if let reply = BounceReply(fields) { replies.append(reply) }
                fields = [:]
                continue
            }
            fields[line[..<colon].lowercased()] = String(
                decoding: Array(line[line.index(after: colon)...].utf8)[...].trimmed,
                as: UTF8.self
            )
        }
        return replies
    }

    private init?(_ fields: [String: String]) {
        guard let diagnostic = fields["diagnostic-code"] else { return nil }
        /// The value after "smtp;", "rfc822;" or "dns;".
        ///
        /// Some mailers leave the type out, and the reply itself may hold a semicolon: a type is a single word that
        /// begins with a letter.
        func value(_ text: String?) -> String? {
            guard let text else { return nil }
            guard let semicolon = text.firstIndex(of: ";") else { return text }
            let type = Array(text[..<semicolon].utf8)[...].trimmed
            guard type.first?.isLetter != false, !type.contains(where: \.isWhiteSpace) else { return text }
            return String(decoding: Array(text[text.index(after: semicolon)...].utf8)[...].trimmed, as: UTF8.self)
        }
        self.init(
            value(diagnostic) ?? diagnostic,
            recipient: value(fields["final-recipient"]),
            server: value(fields["remote-mta"]),
            status: fields["status"]
        )
    }
}
