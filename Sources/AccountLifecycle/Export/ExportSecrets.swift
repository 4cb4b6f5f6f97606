/// Decides by name which data is a secret and not personal data.
///
/// A secret would give whoever reads the archive access to the account or to another service.
enum ExportSecrets {
    /// Whether a column is left out, and named in the manifest instead.
    ///
    /// Secrets are recognized by the words in a column's name, in the app's tables too, since nobody can be asked about
    /// tables that are unknown here.
    static func holds(_ column: String, of table: TableName) -> Bool {
        let words = words(column)
        if !everywhere.isDisjoint(with: words) { return true }
        let pairs = Set(zip(words, words.dropFirst()).map { $0 + "_" + $1 })
        if !pairsEverywhere.isDisjoint(with: pairs) { return true }
        guard table.schema == "auth" || table.schema == "accountctl" else { return false }
        return !inOurs.isDisjoint(with: words) || !pairsInOurs.isDisjoint(with: pairs)
    }

    /// Whether a whole table is left out: the person may not be allowed to know of a legal hold.
    static func keepsBack(_ table: TableName) -> Bool {
        table == .holds
    }

    private static let everywhere: Set = [
        "password", "passwords", "passwd", "pwd", "passphrase", "secret", "secrets", "token", "tokens", "otp", "apikey",
    ]
    private static let pairsEverywhere: Set = ["api_key", "private_key"]
    /// Codes, challenges and `auth.refresh_tokens.parent`, which is a token as well.
    private static let inOurs: Set = ["code", "challenge", "nonce", "hmac", "parent"]
    private static let pairsInOurs: Set = ["session_data"]

    /// The words of a column's name; `refreshToken` and `refresh_token` have the same ones.
    private static func words(_ name: String) -> [String] {
        var words: [String] = []
        var word = ""
        for character in name {
            if character == "_" || character == "-" || character == " " {
                words.append(word)
                word = ""
            } else {
                if character.isUppercase, let last = word.last, last.isLowercase || last.isNumber {
                    words.append(word)
                    word = ""
                }
                word.append(character)
            }
        }
        words.append(word)
        return words.filter { !$0.isEmpty }.map { $0.lowercased() }
    }
}
