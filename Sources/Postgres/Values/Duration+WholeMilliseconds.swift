extension Duration {
    /// The duration in whole milliseconds, as server settings and columns in milliseconds take it.
    package var wholeMilliseconds: Int {
        let (seconds, attoseconds) = components
        return Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000)
    }
}
