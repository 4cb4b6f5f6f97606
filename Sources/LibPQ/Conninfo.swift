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
                    // Passwords are marked with a star, in libpq's words "hide it".
                    isSecret: next.pointee.dispchar.map { unsafe String(cString: $0) } == "*"
                )
            )
            unsafe next += 1
        }
        return found
    }
}

/// A connection string taken apart by libpq itself.
package struct Conninfo: Sendable {
    /// The keywords that the string sets, in libpq's order, secrets left out.
    package let parameters: [(keyword: String, value: String)]

    /// Takes a URI or a keyword string apart.
    ///
    /// - Throws: ``ConninfoError`` with libpq's message, which may quote the string.
    package init(_ text: String) throws(ConninfoError) {
        var message: UnsafeMutablePointer<CChar>?
        guard let options = unsafe PQconninfoParse(text, &message) else {
            defer { unsafe PQfreemem(message) }
            throw ConninfoError(
                message: unsafe message.map { unsafe String(cString: $0).trimmedEnd() } ?? "out of memory"
            )
        }
        defer { unsafe PQconninfoFree(options) }
        parameters = unsafe ConninfoOption.list(options).compactMap { option in
            guard !option.isSecret, let value = option.value else { return nil }
            return (option.keyword, value)
        }
    }

    /// Whether libpq would take a `dbname` for a whole connection string.
    package static func isConnectionString(_ text: String) -> Bool {
        text.hasPrefix("postgres://") || text.hasPrefix("postgresql://") || text.contains("=")
    }
}

/// A connection string that libpq refuses.
package struct ConninfoError: Error {
    /// libpq's message; may quote part of the string.
    package let message: String
}
