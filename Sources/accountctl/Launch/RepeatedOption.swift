/// A single-value option that a command line gives more than once.
///
/// The parser silently takes the last value: of two accounts that somebody typed, only one would be erased, perhaps the
/// wrong one.
enum RepeatedOption {
    /// Finds the first repeated option of a command.
    ///
    /// - Parameters:
    ///   - words: the normalised words that the parser accepted for this command; each word that begins with a dash is
    ///     an option, since no option of ours takes such a word as its value.
    ///   - arguments: those of the command, of which multi-value options and flags may be repeated; asked for only if
    ///     an option may be given twice, since reading them takes longer than the rest of this check.
    /// - Returns: The option's name as the help shows it; nil if no option is repeated.
    /// - Throws: What `arguments` throws.
    static func name(
        in words: [String],
        among arguments: @autoclosure () throws -> [CommandDescription.Argument]
    ) rethrows -> String? {
        let given = names(in: words)
        guard mayRepeat(given) else { return nil }
        let single = try arguments().filter { $0.kind == .option && !$0.isRepeating }
        let repeated = single.first { option in
            let own = (option.names ?? []).map(\.text)
            return given.count { own.contains($0) } > 1
        }
        return repeated?.preferredName?.text
    }

    /// The names of the given options, as typed; one word may hold several one-letter options.
    private static func names(in words: [String]) -> [String] {
        var bare: Set<String> = []
        return words.prefix { $0 != "--" }.flatMap { word -> [String] in
            // `--json` and the like without fields count as flags.
            if GlobalOptions.isWithoutFields(word), !bare.insert(word).inserted { return [] }
            let name = String(word.prefix { $0 != "=" })
            if name.hasPrefix("--") { return [name] }
            return name.hasPrefix("-") ? name.dropFirst().map { "-\($0)" } : []
        }
    }

    /// Whether an option may be given twice: under one name, or under its letter and a long name that begins with this
    /// letter.
    private static func mayRepeat(_ names: [String]) -> Bool {
        let letters = Set(names.filter { !$0.hasPrefix("--") }.map { String($0.dropFirst()) })
        var seen: Set<String> = []
        return names.contains { name in
            !seen.insert(name).inserted
                || name.hasPrefix("--") && letters.contains(String(name.dropFirst(2).prefix(1)))
        }
    }
}
