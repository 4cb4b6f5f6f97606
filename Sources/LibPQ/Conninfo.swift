import CLibpq

/// One keyword of a connection string.
struct ConninfoOption {
    var keyword: String
    var value: String?
    var isSecret: Bool

    static func list(_ options: UnsafeMutablePointer<PQconninfoOption>) -> [ConninfoOption] {
        var found: [ConninfoOption] = []
        var next = unsafe options
        while let keyword = unsafe next.pointee.keyword {
            unsafe found.append(
                ConninfoOption(
                    keyword: String(cString: keyword),
                    value: next.pointee.val.map { unsafe String(cString: $0) },
                    // libpq marks passwords with a star, in its words "hide it".
                    isSecret: next.pointee.dispchar.map { unsafe String(cString: $0) } == "*"
                )
            )
            unsafe next += 1
        }
        return found
    }
}

/// A connection string, parsed by libpq itself.
package struct Conninfo: Sendable {
    /// The keywords that the string sets, in libpq's order, without secrets.
    package let parameters: ConnectionKeywords
    /// Whether the string sets a password, for the database or for a key.
    package let holdsSecret: Bool

    /// Parses a URI or a keyword string.
    ///
    /// - Throws: ``ConninfoError``, also for a URI in which libpq would take part of the password for a host, a port or
    ///   a database.
    package init(_ text: String) throws(ConninfoError) {
        let uri = ConninfoURI(text)
        // No keyword contains these characters.
        if uri == nil, text.utf8.prefix(while: { $0 != UInt8(ascii: "=") }).contains("://".utf8) {
            throw ConninfoError.otherScheme
        }
        var message: UnsafeMutablePointer<CChar>?
        guard let options = unsafe PQconninfoParse(text, &message) else {
            defer { unsafe PQfreemem(message) }
            throw ConninfoError(
                libpq: unsafe message.map { unsafe String(cString: $0).trimmedEnd() } ?? "out of memory",
                about: text,
                uri
            )
        }
        defer { unsafe PQconninfoFree(options) }
        let set = unsafe ConninfoOption.list(options)
        holdsSecret = set.contains { $0.isSecret && $0.value?.isEmpty == false }
        parameters = set.compactMap { option in
            guard !option.isSecret, let value = option.value else { return nil }
            return (option.keyword, value)
        }
        if let uri, uri.isMisread(ports: parameters.first { $0.keyword == "port" }?.value) {
            throw ConninfoError.misread
        }
    }

    /// Whether a text is a whole connection string and not a database name.
    ///
    /// Besides the strings that libpq accepts, this includes texts that look like a URI with another beginning: as a
    /// database name they would be shown, with the password.
    package static func isConnectionString(_ text: String) -> Bool {
        // By bytes, as libpq does: an @ with a combining accent is another Character.
        let text = text.utf8
        if text.contains(UInt8(ascii: "=")) || text.contains("://".utf8) { return true }
        guard let at = text.lastIndex(of: UInt8(ascii: "@")) else { return false }
        return text[..<at].contains(UInt8(ascii: ":"))
    }
}
