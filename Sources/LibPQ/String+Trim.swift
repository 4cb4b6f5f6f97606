extension String {
    /// The text without the line breaks that libpq appends to its messages.
    func trimmedEnd() -> String {
        var text = self[...]
        while let last = text.last, last.isWhitespace { text.removeLast() }
        return String(text)
    }
}
