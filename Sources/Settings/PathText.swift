/// Decides how much of a text that should be a file path may be repeated.
///
/// The usual mistake is to enter the secret itself instead of its path, and a secret must not reach a message or a log.
enum PathText {
    /// A description of the text for messages, which repeats only what certainly is a path.
    static func naming(_ text: String) -> String {
        isPath(text) ? "the file \(text)" : "the file that is named"
    }

    /// The message for an unreadable file, which explains the working directory for a relative path.
    static func unreadable(_ text: String, _ reason: String) -> String {
        let place = text.hasPrefix("/") ? "" : ", whose path counts from the working directory"
        return "cannot read \(naming(text))\(place): \(reason)"
    }

    /// Whether the text begins in a way that only paths do.
    static func isPath(_ text: String) -> Bool {
        text.utf8.count <= 1024 && ["/", "./", "../", "~/"].contains { text.hasPrefix($0) } && !isKey(text)
            && !text.contains(where: \.isNewline)
    }

    /// Whether the text looks like a secret of Supabase or Apple: a secret key, a JWT or a private key.
    ///
    /// A file name may begin the same way, but then has a folder or an extension.
    static func isSecret(_ text: String) -> Bool {
        if isKey(text) || text.hasPrefix("eyJ") { return true }
        return ["sb_", "sbp_"].contains { text.hasPrefix($0) } && !text.contains { $0 == "." || $0 == "/" }
    }

    /// Whether the text is a line of a key file or a PEM key rather than a path.
    static func isKey(_ text: String) -> Bool {
        if text.contains("-----BEGIN") { return true }
        guard let colon = text.firstIndex(of: ":") else { return false }
        let rest = text[text.index(after: colon)...]
        return rest.utf8.count >= 40
            && rest.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "+/=_-".contains($0)) }
    }
}
