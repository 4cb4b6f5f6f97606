/// A connection string that cannot be used.
package struct ConninfoError: Error {
    /// What is wrong with the string, without any part of it that may be secret.
    package let message: String

    private static let advice =
        "in a URI the characters @ : / ? # [ ] % of a password are written %40 %3A %2F %3F %23 %5B %5D %25"

    private static let forms =
        "expected a URI that begins with postgresql://, or keywords such as host=... user=... dbname=..."

    private init(message: String) {
        self.message = message
    }

    /// A URI in which part of the password would be taken for a host, a port or a database.
    static let misread = ConninfoError(message: "the URI has one @ too many, or a port that is not a number: " + advice)

    /// A URI with a scheme of another program or kind.
    static let otherScheme = ConninfoError(message: "a connection URI begins with postgresql:// or postgres://")

    /// Creates an error from libpq's message, without the part of the string that it quotes.
    ///
    /// An unknown keyword, which may be misspelt or another program's, is named if it cannot be part of the password.
    init(libpq message: String, about text: String, _ uri: ConninfoURI?) {
        let scalars = message.unicodeScalars
        let parts = scalars.split(separator: "\"", maxSplits: 3, omittingEmptySubsequences: false).map { String($0) }
        let isNamed =
            switch parts[0] {
            case "invalid connection option ": uri == nil && !text.contains("password") && Self.isWord(parts[1])
            case "invalid URI query parameter: ": uri?.hasOneAt == true && Self.isWord(parts[1])
            default: parts.count == 1
            }
        if isNamed {
            self.init(message: message)
        } else {
            // libpq also quotes the punctuation that it expected.
            let isPunctuation = parts.count > 3 && (parts[1] == "=" || parts[1] == "]")
            let said = isPunctuation ? parts[0...2].joined(separator: "\"") : parts[0]
            self.init(message: said + "…; " + (uri == nil ? Self.forms : Self.advice))
        }
    }

    private static func isWord(_ text: String) -> Bool {
        text.utf8.allSatisfy { (97...122).contains($0) || (65...90).contains($0) || $0 == 95 }
    }
}
