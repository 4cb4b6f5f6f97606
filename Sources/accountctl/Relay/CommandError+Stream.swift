import Terminal

extension CommandError {
    /// The error for a mail stream name that does not exist.
    static func noStream(_ name: String) -> CommandError {
        CommandError(
            .notFound,
            "there is no stream \"\(SafeText.line(name))\"",
            hint: "See: accountctl relay stream list"
        )
    }
}
