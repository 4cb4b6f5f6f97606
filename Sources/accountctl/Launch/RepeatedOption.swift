import ArgumentParser

/// An option of one value that a command line gives more than once.
///
/// The parser takes the last value without a word: of two accounts that somebody typed one would be erased, and perhaps
/// not the one that was meant.
enum RepeatedOption {
    /// Finds the first such option of a command.
    ///
    /// - Parameters:
    ///   - words: normalised words that the parser has taken for this command: what begins with a dash there is an
    ///     option, since no option of ours takes such a word as its value.
    ///   - command: the command, whose options of several values may be repeated, and so may its flags.
    /// - Returns: Its name, as the help has it; nil where there is none.
    /// - Throws: What reading the parser's own description of the command throws.
    static func name(in words: [String], of command: any ParsableArguments.Type) throws -> String? {
        let given = names(in: words)
        // What the command declares takes longer to ask than everything else here.
        guard mayRepeat(given) else { return nil }
        let single = try CommandDescription.arguments(of: command).filter { $0.kind == .option && !$0.isRepeating }
        let repeated = single.first { option in
            let own = (option.names ?? []).map(\.text)
            return given.count { own.contains($0) } > 1
        }
        return repeated?.preferredName?.text
    }

    /// The names of the options that are given, as they are typed; several of one letter may stand in one word.
    private static func names(in words: [String]) -> [String] {
        var bare: Set<String> = []
        return words.prefix { $0 != "--" }.flatMap { word -> [String] in
            // Such an option without fields is like a flag to whoever types it.
            if GlobalOptions.isWithoutFields(word), !bare.insert(word).inserted { return [] }
            let name = String(word.prefix { $0 != "=" })
            if name.hasPrefix("--") { return [name] }
            return name.hasPrefix("-") ? name.dropFirst().map { "-\($0)" } : []
        }
    }

    /// Whether an option could be there twice: by one name, or by its letter and by its name, which begins so.
    private static func mayRepeat(_ names: [String]) -> Bool {
        let letters = Set(names.filter { !$0.hasPrefix("--") }.map { String($0.dropFirst()) })
        var seen: Set<String> = []
        return names.contains { name in
            !seen.insert(name).inserted
                || name.hasPrefix("--") && letters.contains(String(name.dropFirst(2).prefix(1)))
        }
    }
}
