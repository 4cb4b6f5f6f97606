import Postgres

/// JSON as it was written, which the server takes in a column of `json` and may refuse to read.
enum WrittenJSON {
    /// JSON less the zeros and the halves of characters in its texts that the server would refuse to read.
    ///
    /// Once backslashes that stand for themselves are written in another way, each that is left begins an escape.
    static func readable(_ text: Statement) -> Statement {
        [#"\\u0000"#, highHalf + "(?!" + lowHalf + ")", "(?<!" + highHalf + ")" + lowHalf].reduce(
            "replace(" + text + #", '\\', '\u005c')"#
        ) { "regexp_replace(" + $0 + ", \($1), '', 'g')" }
    }

    private static let highHalf = #"\\u[dD][89abAB][0-9a-fA-F]{2}"#
    private static let lowHalf = #"\\u[dD][c-fC-F][0-9a-fA-F]{2}"#
}
