/// Takes the password out of a connection string that is shown.
enum PasswordMask {
    static func apply(to conninfo: String) -> String {
        maskKeyword(maskURI(conninfo))
    }

    /// Whether the string holds a password.
    static func findsPassword(in conninfo: String) -> Bool {
        apply(to: conninfo) != conninfo
    }

    /// `postgresql://user:password@host/…`; the last @ before the path, since a password may hold one.
    private static func maskURI(_ text: String) -> String {
        guard let scheme = text.range(of: "://") else { return text }
        let rest = text[scheme.upperBound...]
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        guard let at = authority.lastIndex(of: "@"), let colon = authority[..<at].firstIndex(of: ":") else {
            return text
        }
        return String(text[...colon]) + "***" + String(text[at...])
    }

    /// `password=…` as a keyword, quoted or not, or as a parameter of a URI.
    private static func maskKeyword(_ text: String) -> String {
        guard let start = text.range(of: "password") else { return text }
        var index = start.upperBound
        while index < text.endIndex, text[index] == " " { index = text.index(after: index) }
        guard index < text.endIndex, text[index] == "=" else { return text }
        index = text.index(after: index)
        while index < text.endIndex, text[index] == " " { index = text.index(after: index) }
        let head = text[..<index]
        var rest = text[index...]
        if rest.first == "'" {
            rest = rest.dropFirst()
            var escaped = false
            while let character = rest.popFirst() {
                if escaped {
                    escaped = false
                } else if character == "\\" {
                    escaped = true
                } else if character == "'" {
                    break
                }
            }
        } else {
            rest = rest.drop { $0 != " " && $0 != "&" }
        }
        return head + "***" + rest
    }
}

extension String {
    /// The first place of a text, without Foundation.
    fileprivate func range(of needle: String) -> Range<String.Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(needle) { return start..<index(start, offsetBy: needle.count) }
            start = index(after: start)
        }
        return nil
    }
}
