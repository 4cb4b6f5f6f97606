extension String {
    /// The text without the line ends after it, which belong to no value.
    func trimmingLineEnds() -> String {
        guard let last = lastIndex(where: { !$0.isNewline }) else { return "" }
        return String(self[...last])
    }
}
