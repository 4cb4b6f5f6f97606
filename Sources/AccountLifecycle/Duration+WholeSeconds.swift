extension Duration {
    /// The whole seconds of it, as intervals in SQL are made of.
    var wholeSeconds: Int64 { components.seconds }
}
