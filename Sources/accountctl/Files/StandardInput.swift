/// Reads all of standard input.
enum StandardInput {
    static func text() -> String {
        var text = ""
        while let line = readLine(strippingNewline: false) { text += line }
        return text
    }
}
