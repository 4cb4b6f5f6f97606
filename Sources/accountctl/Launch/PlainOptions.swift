import ArgumentParser

/// A command, or a group of options, that takes plain words itself.
///
/// The parser finds a command's properties by reflection, for which the runtime reads through all conformances of the
/// program, forty times in all: half of what a look-up in the database computes. Names, help and mistakes stay the
/// parser's: what is taken here is found by the properties' coding keys, and whatever is not taken is parsed.
protocol PlainOptions: ParsableArguments {
    /// Gives each property what it has where nothing is said.
    mutating func setDefaults()

    /// Takes an option by the name of its property, with its value from the words; false for what is the parser's to
    /// understand.
    mutating func takeOption(_ property: String, from words: inout PlainWords) -> Bool
}

/// A command that takes plain words itself.
protocol PlainCommand: AccountctlCommand, PlainOptions {
    /// Takes an operand; false for what is the parser's to understand.
    mutating func takeOperand(_ word: String) -> Bool
}

extension PlainCommand {
    /// The command that plain words behind its name ask for; nil where they are not plain.
    static func plain(_ words: [String]) -> Self? {
        var command = Self()
        command.setDefaults()
        var words = PlainWords(words)
        while let word = words.next() {
            let isTaken =
                switch word {
                case .operand(let text): command.takeOperand(text)
                case .option(let property): command.takeOption(property, from: &words)
                }
            guard isTaken else { return nil }
        }
        var global = command.global
        guard !words.isSpoiled, (try? global.validate()) != nil, (try? command.validate()) != nil else { return nil }
        return command
    }
}
