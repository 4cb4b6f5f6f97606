/// Generates the unguessable texts of the simulated services: codes, tokens, identifiers.
enum RandomText {
    private static let urlSafe = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    private static let capitals = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
    private static let hexadecimal = Array("0123456789abcdef")
    private static let decimal = Array("0123456789")

    static func token(length: Int) -> String { text(of: urlSafe, length: length) }

    /// The form of Apple's Team IDs and Key IDs.
    static func developerIdentifier() -> String { text(of: capitals, length: 10) }

    static func hex(length: Int) -> String { text(of: hexadecimal, length: length) }

    static func digits(length: Int) -> String { text(of: decimal, length: length) }

    /// The observed form of Apple's user identifiers; clients must treat it as opaque.
    static func subject() -> String {
        "\(digits(length: 6)).\(hex(length: 32)).\(digits(length: 4))"
    }

    private static func text(of alphabet: [Character], length: Int) -> String {
        var text = ""
        for _ in 0..<length { text.append(alphabet[Int.random(in: 0..<alphabet.count)]) }
        return text
    }
}
