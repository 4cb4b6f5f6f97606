import Sealing

extension String {
    /// The text without what an editor adds to a value: a byte order mark before it, and line ends after it.
    func trimmingEditorMarks() -> String {
        let text = drop { $0 == .byteOrderMark }
        guard let last = text.lastIndex(where: { !$0.isNewline }) else { return "" }
        return String(text[...last])
    }
}
