extension StringProtocol {
    /// The text without those characters at its start and its end that satisfy `isEdge`.
    package func trimming(while isEdge: (Character) -> Bool) -> SubSequence {
        guard let first = firstIndex(where: { !isEdge($0) }), let last = lastIndex(where: { !isEdge($0) }) else {
            return self[endIndex...]
        }
        return self[first...last]
    }
}
