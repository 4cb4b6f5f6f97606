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
