extension String {
    /// The text without trailing line ends, which are not part of a value.
    func trimmingLineEnds() -> String {
        guard let last = lastIndex(where: { !$0.isNewline }) else { return "" }
        return String(self[...last])
    }
}
