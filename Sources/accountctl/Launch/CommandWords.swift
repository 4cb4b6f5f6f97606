import ArgumentParser
import Terminal

/// Normalises a command line into a form that the parser reads unambiguously.
///
/// - Options may precede the command: `accountctl --json user find anna`. Those of every command may also stand between
///   its names.
/// - `--json`, `--csv` and `--tsv` take their fields as the next word, but only if that word is a list of fields of the
///   command: in `deletion show --json 42` the 42 stays an operand. So does a word with dots, unless the command has
///   such columns.
/// - A single word after one of these options counts as a mistyped field if it is nearly a field, or if the command has
///   no other place for it, provided that the command line is complete without it: in `user find --json emil` it stays
///   an operand.
/// - A word that begins like a negative number is the value of the option before it, or else an operand, whose own
///   check then reports the allowed range: no option starts with a digit.
enum CommandWords {
    /// The options of every command that always have a value.
    static let globalOptionsWithValue: Set<String> = [
        "--database-url", "--config", "--environment", "--format", "--log-level",
    ]

    private static let globalOptions = globalOptionsWithValue.union(GlobalOptions.fieldOptions)
        .union(["--no-color", "--no-pager", "--no-input"])

    static func normalised(_ words: [String], root: any ParsableCommand.Type) -> [String] {
        joinNegativeNumbers(joinFields(moveOptionsBehindNames(words, root: root), root: root))
    }

    private static func joinNegativeNumbers(_ words: [String]) -> [String] {
        let end = words.firstIndex(of: "--") ?? words.endIndex
        var (joined, operands): ([String], [String]) = ([], [])
        for word in words[..<end] {
            let isNegative = word.hasPrefix("-") && word.utf8.dropFirst().first.map { 48...57 ~= $0 } == true
            if isNegative, let option = joined.last, option.hasPrefix("--"), !option.contains("=") {
                joined[joined.count - 1] += "=" + word
            } else if isNegative {
                operands.append(word)
            } else {
                joined.append(word)
            }
        }
        // After `--`, where the parser takes no word for an option.
        return operands.isEmpty ? joined + words[end...] : joined + ["--"] + operands + words[end...].dropFirst()
    }

    /// The mistyped field in normalised words; nil if there is none.
    static func unknownField(_ words: [String], root: any ParsableCommand.Type) -> UnknownField? {
        for word in words.prefix(while: { $0 != "--" }) where word.hasPrefix("--") {
            let parts = word.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, GlobalOptions.fieldOptions.contains(String(parts[0])) else { continue }
            let command = CommandPath(root: root, words: words).last as? any AccountctlCommand.Type
            if isNearlyField(String(parts[1]), of: command), let command {
                return UnknownField(name: String(parts[1]), known: command.outputFields)
            }
        }
        return nil
    }

    private static func isNearlyField(_ word: String, of command: (any AccountctlCommand.Type)?) -> Bool {
        guard let known = command?.outputFields, word != GlobalOptions.FieldSelection.all, !known.contains(word),
            isFieldShaped(word)
        else { return false }
        return NearestName.of(word, among: known) != nil
    }

    private static func isFieldShaped(_ word: String) -> Bool {
        word.allSatisfy { $0.isASCII && ($0.isLowercase || $0 == "_") }
    }

    /// Moves options before the names of the command behind them, and those of every command also from between the
    /// names: another's value may be the name of a command, as in `user --reason release show anna`.
    private static func moveOptionsBehindNames(_ words: [String], root: any ParsableCommand.Type) -> [String] {
        var (names, options, rest): ([String], [String], ArraySlice<String>) = ([], [], words[...])
        while true {
            let path = CommandPath(root: root, words: names + rest)
            let found = path.wordCount - names.count
            names += rest.prefix(found)
            rest = rest.dropFirst(found)
            guard !path.last.configuration.subcommands.isEmpty, let option = rest.first, option.hasPrefix("--"),
                option.count > 2, names.isEmpty || globalOptions.contains(String(option.prefix { $0 != "=" }))
            else { break }
            let hasValue = globalOptionsWithValue.contains(option) || isFollowedByFields(rest, in: path.last)
            options += rest.prefix(hasValue ? 2 : 1)
            rest = rest.dropFirst(hasValue ? 2 : 1)
        }
        return names + options + rest
    }

    /// Whether the first word is an option that takes fields and the next word is not a command of this group.
    private static func isFollowedByFields(_ words: ArraySlice<String>, in group: any ParsableCommand.Type) -> Bool {
        guard let option = words.first, GlobalOptions.fieldOptions.contains(option) else { return false }
        guard let next = words.dropFirst().first, !next.hasPrefix("-") else { return false }
        return CommandPath(root: group, words: [next]).wordCount == 0
    }

    private static func joinFields(_ words: [String], root: any ParsableCommand.Type) -> [String] {
        guard words.contains(where: { GlobalOptions.fieldOptions.contains($0) }) else { return words }
        let path = CommandPath(root: root, words: words)
        let command = path.last as? any AccountctlCommand.Type
        var result: [String] = []
        var index = 0
        while index < words.count {
            let word = words[index]
            index += 1
            if word == "--" {
                result += words[(index - 1)...]
                break
            }
            guard GlobalOptions.fieldOptions.contains(word) else {
                result.append(word)
                continue
            }
            let isComplete = { (rest: ArraySlice<String>) in
                let line = result + [word + "=" + GlobalOptions.FieldSelection.all] + rest
                return command?.parsed(Array(line[path.wordCount...])) != nil
            }
            if index < words.count,
                isSelection(words[index], after: word, of: command)
                    || (isNearlyField(words[index], of: command)
                        || isFieldShaped(words[index]) && !isComplete(words[index...]))
                        && isComplete(words[(index + 1)...])
            {
                result.append(word + "=" + words[index])
                index += 1
            } else {
                result.append(word + "=" + GlobalOptions.FieldSelection.all)
            }
        }
        return result
    }

    /// Whether a word selects fields: several names between commas can only be fields, while a single name may be an
    /// operand.
    private static func isSelection(
        _ word: String,
        after option: String,
        of command: (any AccountctlCommand.Type)?
    ) -> Bool {
        let names = word.split(separator: ",", omittingEmptySubsequences: false)
        // CSV and TSV may have columns such as auth.email; otherwise a word with dots is a domain.
        let sectionFields = option == "--json" ? [] : command?.sectionFields ?? []
        let marks = sectionFields.isEmpty ? "_" : "_."
        let shaped = names.allSatisfy { name in
            !name.isEmpty && name.allSatisfy { $0.isASCII && ($0.isLowercase || $0.isNumber || marks.contains($0)) }
        }
        guard shaped, names.count == 1 else { return shaped }
        let section = word.prefix { $0 != "." }
        return word.contains(".")
            ? sectionFields.contains { $0.hasPrefix(section + ".") } : command?.outputFields.contains(word) == true
    }
}
