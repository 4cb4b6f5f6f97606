extension Duration {
    /// The whole milliseconds of it, as the server's settings and columns of milliseconds take them.
    package var wholeMilliseconds: Int {
        let (seconds, attoseconds) = components
        return Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000)
    }
}
