/// A text that should be the path of a file, as far as it may be repeated.
///
/// Where a path belongs, the secret itself is the usual slip: it must reach no message then, and no log.
enum PathText {
    /// The text, in words that a message can hold; only what certainly is a path is repeated.
    static func naming(_ text: String) -> String {
        isPath(text) ? "the file \(text)" : "the file that is named"
    }

    /// What is said of a file that cannot be read: where a relative path is looked for is not seen from the settings.
    static func unreadable(_ text: String, _ reason: String) -> String {
        let place = text.hasPrefix("/") ? "" : ", whose path counts from the working directory"
        return "cannot read \(naming(text))\(place): \(reason)"
    }

    /// Whether the text begins as only paths do.
    static func isPath(_ text: String) -> Bool {
        text.utf8.count <= 1024 && ["/", "./", "../", "~/"].contains { text.hasPrefix($0) } && !isKey(text)
            && !text.contains(where: \.isNewline)
    }

    /// Whether this begins as the secrets of Supabase and Apple do: a secret key, a JWT, a key.
    ///
    /// A file may be called so, too, and has a folder or an ending then.
    static func isSecret(_ text: String) -> Bool {
        if isKey(text) || text.hasPrefix("eyJ") { return true }
        return ["sb_", "sbp_"].contains { text.hasPrefix($0) } && !text.contains { $0 == "." || $0 == "/" }
    }

    /// Whether this is a line of a key file, or a key in PEM, rather than where one lies.
    static func isKey(_ text: String) -> Bool {
        if text.contains("-----BEGIN") { return true }
        guard let colon = text.firstIndex(of: ":") else { return false }
        let rest = text[text.index(after: colon)...]
        return rest.utf8.count >= 40
            && rest.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "+/=_-".contains($0)) }
    }
}
