import Terminal

extension CommandError {
    /// That no mail stream is called so.
    static func noStream(_ name: String) -> CommandError {
        CommandError(
            .notFound,
            "there is no stream \"\(SafeText.line(name))\"",
            hint: "See: accountctl relay stream list"
        )
    }
}
