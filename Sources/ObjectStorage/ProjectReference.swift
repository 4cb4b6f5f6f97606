/// The reference of the Supabase project that a setting names, if any.
package enum ProjectReference {
    /// The reference in an address of Storage: `https://<project>.supabase.co/…` or
    /// `https://<project>.storage.supabase.co/…`.
    package static func ofStorage(_ url: String) -> String? {
        let text = url.lowercased()
        guard let scheme = text.firstRange(of: "://") else { return nil }
        let host = text[scheme.upperBound...].prefix { !"/?#:".contains($0) }
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        guard labels.suffix(2) == ["supabase", "co"] else { return nil }
        switch labels.count {
        case 3: return String(labels[0])
        case 4 where labels[1] == "storage": return String(labels[0])
        default: return nil
        }
    }

    /// The reference in the user of a pooler, `postgres.<project>`, or in the direct host, `db.<project>.supabase.co`.
    package static func ofDatabase(user: String?, host: String?) -> String? {
        let hosts = (host ?? "").lowercased().split(separator: ",").map(String.init)
        let words = (user ?? "").lowercased().split(separator: ".", maxSplits: 1)
        if words.count == 2, words[0] == "postgres" || hosts.contains(where: { $0.hasSuffix(".pooler.supabase.com") }) {
            return String(words[1])
        }
        for host in hosts {
            let labels = host.split(separator: ".")
            if labels.count == 4, labels[0] == "db", labels.suffix(2) == ["supabase", "co"] {
                return String(labels[1])
            }
        }
        return nil
    }
}
