extension Duration {
    /// The whole seconds, from which intervals in SQL are built.
    var wholeSeconds: Int64 { components.seconds }
}
