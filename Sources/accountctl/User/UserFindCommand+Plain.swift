import ArgumentParser

extension UserFindCommand {
    /// The command parsed from the plain words after its name; nil if a word is not plain.
    static func plain(_ words: [String]) -> Self? {
        var command = Self()
        command.setDefaults()
        var words = PlainWords(words)
        while let word = words.next() {
            switch word {
            case .operand(let text): command.terms.append(text)
            case .option(let property): guard command.takeOption(property, from: &words) else { return nil }
            }
        }
        var global = command.global
        guard !words.isSpoiled, (try? global.validate()) != nil, (try? command.validate()) != nil else { return nil }
        return command
    }
}
