extension String {
    /// The text without the line ends that libpq puts after its messages.
    func trimmedEnd() -> String {
        var text = self[...]
        while let last = text.last, last.isWhitespace { text.removeLast() }
        return String(text)
    }
}
