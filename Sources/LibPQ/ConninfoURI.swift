/// The text of a connection URI, checked for a password whose special characters were not escaped.
///
/// libpq parses such a URI without complaint and takes the rest of the password for something else: in
/// `user:pa/ss@host/app` the host is `user`, the port `pa` and the database `ss@host/app`, and all of them appear in
/// error messages and logs.
struct ConninfoURI {
    /// The part after user and password, up to the query: hosts, ports and the database, as written.
    private let places: Substring.UTF8View
    /// Whether an @ ends user and password and no other one follows: then nothing after it belongs to them.
    let hasOneAt: Bool

    private static let at = UInt8(ascii: "@")

    /// Splits the text as libpq does, byte by byte; nil for anything but a URI.
    init?(_ text: String) {
        let schemes = ["postgresql://", "postgres://"]
        guard let scheme = schemes.first(where: { text.utf8.starts(with: $0.utf8) }) else { return nil }
        var rest = text.utf8.dropFirst(scheme.utf8.count)
        // The first @ ends the password, unless a slash has ended the hosts before it.
        var hasEnded = false
        if let end = rest.firstIndex(where: { $0 == Self.at || $0 == UInt8(ascii: "/") }), rest[end] == Self.at {
            rest = rest[rest.index(after: end)...]
            hasEnded = true
        }
        hasOneAt = hasEnded && !rest.contains(Self.at)
        places = rest.prefix { $0 != UInt8(ascii: "?") }
    }

    /// Whether part of the password is taken for something else.
    ///
    /// An @ in a name is written %40 in a URI; `ports` are those that libpq found.
    func isMisread(ports: String?) -> Bool {
        if places.contains(Self.at) { return true }
        let numbers = (ports ?? "").split(separator: ",")
        return !numbers.allSatisfy { number in UInt16(number).map { $0 > 0 } ?? false }
    }
}
