import Postgres

/// JSON text as it was written: a `json` column accepts it, but the server may refuse to read it.
enum WrittenJSON {
    /// JSON without the escapes that the server would refuse to read: NUL characters and unpaired surrogates.
    ///
    /// Escaped backslashes are rewritten first; then every remaining backslash begins an escape.
    static func readable(_ text: Statement) -> Statement {
        [#"\\u0000"#, highHalf + "(?!" + lowHalf + ")", "(?<!" + highHalf + ")" + lowHalf].reduce(
            "replace(" + text + #", '\\', '\u005c')"#
        ) { "regexp_replace(" + $0 + ", \($1), '', 'g')" }
    }

    private static let highHalf = #"\\u[dD][89abAB][0-9a-fA-F]{2}"#
    private static let lowHalf = #"\\u[dD][c-fC-F][0-9a-fA-F]{2}"#
}
