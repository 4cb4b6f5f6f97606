import ArgumentParser

/// A command or option group that parses plain words itself.
///
/// The parser finds a command's properties by reflection, for which the runtime searches all protocol conformances of
/// the program, forty times in all: half of the computing time of a database look-up. Names, help and errors stay with
/// the parser: this path finds options by the coding keys of the properties, and leaves every line that it does not
/// take to the parser.
protocol PlainOptions: ParsableArguments {
    /// Sets each property to its default value.
    mutating func setDefaults()

    /// Takes an option, given by the name of its property, and its value from the words; false leaves the line to the
    /// parser.
    mutating func takeOption(_ property: String, from words: inout PlainWords) -> Bool
}
