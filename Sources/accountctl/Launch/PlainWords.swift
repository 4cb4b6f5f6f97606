import ArgumentParser

/// The words after the name of `user find`, read in the plain form that nearly all calls have.
///
/// The parser finds a command's properties by reflection, for which the runtime searches all protocol conformances of
/// the program, forty times in all: half of the computing time of a database look-up. Names, help and errors stay with
/// the parser: an option is found by the coding key of its property.
///
/// Plain words are operands, `--flag`, `--name value` and `--name=value`, each name in full and at most once. Any other
/// word ends the reading: the parser then understands or refuses the line.
struct PlainWords {
    /// A word, or an option by the name of the property that it sets.
    enum Word: Equatable {
        case operand(String)
        case option(String)
    }

    /// Whether a word was not plain.
    private(set) var isSpoiled = false
    private var rest: ArraySlice<String>
    private var given: Set<String> = []
    /// The text after the equals sign of the last option.
    private var attached: String?

    init(_ words: [String]) {
        rest = words[...]
    }

    /// The next word; nil at the end, or when it is not plain.
    mutating func next() -> Word? {
        guard !isSpoiled, let word = rest.popFirst() else { return nil }
        guard word.utf8.first == UInt8(ascii: "-") else { return word.isEmpty ? spoil() : .operand(word) }
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard let property = Self.property(of: parts[0]), given.insert(property).inserted else { return spoil() }
        attached = parts.count == 2 ? String(parts[1]) : nil
        return .option(property)
    }

    /// Takes the value of the last option; false if it has none, or none of this type.
    mutating func take<Value: ExpressibleByArgument>(_ property: inout Value?) -> Bool {
        guard let text = attached ?? rest.popFirst(), !text.isEmpty, attached != nil || !text.hasPrefix("-"),
            let value = Value(argument: text)
        else { return false }
        property = value
        return true
    }

    /// Takes the value of the last option into a property that is not optional.
    mutating func take<Value: ExpressibleByArgument>(_ property: inout Value) -> Bool {
        var value: Value?
        guard take(&value), let value else { return false }
        property = value
        return true
    }

    /// Takes the last option as a flag; false if it has a value.
    func take(_ property: inout Bool) -> Bool {
        property = true
        return attached == nil
    }

    private mutating func spoil() -> Word? {
        isSpoiled = true
        return nil
    }

    /// The property that the parser derives an option's name from: `databaseURL` for `--database-url`.
    private static func property(of option: Substring) -> String? {
        guard option.hasPrefix("--") else { return nil }
        let words = option.dropFirst(2).split(separator: "-", omittingEmptySubsequences: false)
        // One-letter words are left to the parser: together they could spell an acronym in capitals, such as URL.
        guard words.allSatisfy({ $0.utf8.count > 1 && $0.utf8.allSatisfy(isLowerLetter) }) else { return nil }
        return words.dropFirst().reduce(into: String(words[0])) { name, word in
            name += word == "url" ? "URL" : word.prefix(1).uppercased() + word.dropFirst()
        }
    }

    private static func isLowerLetter(_ byte: UInt8) -> Bool {
        UInt8(ascii: "a") <= byte && byte <= UInt8(ascii: "z")
    }
}
