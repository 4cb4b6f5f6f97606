import LibPQ

/// An SQL statement with its values, built by string interpolation.
///
/// `"select name from users where id = \(id)"` becomes `select name from users where id = $1` and one bound value: no
/// value ever becomes part of the text. Anything else is marked:
/// ``StringInterpolation/appendInterpolation(identifier:)`` quotes a name, `\(unsafeSQL: text)` and
/// ``init(unsafeSQL:)`` take text as it is.
package struct Statement: Sendable, ExpressibleByStringInterpolation, CustomStringConvertible {
    /// The text, with `$n` in place of values.
    package private(set) var text: String

    private(set) var parameters = Parameters()

    /// The UTF-8 offsets of each `$n`, for renumbering when statements are joined.
    private var placeholders: [Range<Int>] = []

    /// The reason why the statement cannot be sent; thrown when it runs, because interpolation cannot throw.
    var fault: EncodingFault? { textFault ?? valueFault }

    /// Set if the text contains a NUL; checked once when the text is built, not at each run.
    private var textFault: EncodingFault?

    /// The reason why the first unencodable value cannot be sent.
    private var valueFault: EncodingFault?

    package init(stringLiteral value: String) {
        self.init(unsafeSQL: value)
    }

    package init(stringInterpolation: StringInterpolation) {
        self = stringInterpolation.statement
    }

    /// Takes text as it is.
    ///
    /// Never build it from input.
    package init(unsafeSQL text: String) {
        self.text = text
        textFault = Self.fault(of: text)
    }

    /// The text, which contains no values.
    package var description: String { text }

    /// Concatenates two statements, with the values of both.
    package static func + (left: Statement, right: Statement) -> Statement {
        var joined = left
        joined.append(right)
        return joined
    }

    /// Appends another statement to this one.
    package static func += (left: inout Statement, right: Statement) {
        left.append(right)
    }

    /// This statement with other values, in the order of its placeholders.
    ///
    /// For a statement that runs thousands of times a second: building a long text takes longer than running it. There
    /// must be as many values as placeholders, of the same types.
    package func with<each Value: PostgresEncodable>(_ values: repeat each Value) -> Statement {
        var other = self
        other.parameters = Parameters(minimumCapacity: placeholders.count)
        other.valueFault = nil
        repeat other.bindNext(each values)
        precondition(other.parameters.count == placeholders.count, "as many values as placeholders")
        return other
    }

    mutating func append(_ other: Statement) {
        textFault = textFault ?? other.textFault
        valueFault = valueFault ?? other.valueFault
        guard !other.placeholders.isEmpty else {
            text += other.text
            return
        }
        // Slices of the text, copied as they are, without an array of bytes that would be validated again. Not with
        // `+=`, which is that of any collection: its first use makes the runtime scan all conformances of the program.
        let utf8 = other.text.utf8
        var copied = utf8.startIndex
        for placeholder in other.placeholders {
            text.append(contentsOf: other.text[copied..<utf8.index(utf8.startIndex, offsetBy: placeholder.lowerBound)])
            appendPlaceholder()
            copied = utf8.index(utf8.startIndex, offsetBy: placeholder.upperBound)
        }
        text.append(contentsOf: other.text[copied...])
        parameters.append(other.parameters)
    }

    mutating func append(literal: String) {
        text += literal
        textFault = textFault ?? Self.fault(of: literal)
    }

    private static func fault(of text: String) -> EncodingFault? { text.utf8.contains(0) ? .nul : nil }

    mutating func bind<Value: PostgresEncodable>(_ value: Value) {
        appendPlaceholder()
        bindNext(value)
    }

    /// Binds the value of the next placeholder without one.
    private mutating func bindNext<Value: PostgresEncodable>(_ value: Value) {
        let count = parameters.count
        do throws(EncodingFault) {
            try value.bind(to: &parameters)
        } catch {
            valueFault = valueFault ?? error
            // One value for each placeholder, even if writing it failed midway.
            if parameters.count == count { parameters.appendNull(type: Value.postgresType) }
        }
    }

    private mutating func appendPlaceholder() {
        let start = text.utf8.count
        text += "$\(placeholders.count + 1)"
        placeholders.append(start..<text.utf8.count)
    }

    /// Collects the pieces of an interpolated statement.
    package struct StringInterpolation: StringInterpolationProtocol {
        var statement: Statement

        package init(literalCapacity: Int, interpolationCount: Int) {
            statement = Statement(unsafeSQL: "")
            statement.text.reserveCapacity(literalCapacity + interpolationCount * 3)
        }

        package mutating func appendLiteral(_ literal: String) {
            statement.append(literal: literal)
        }

        /// Binds a value.
        package mutating func appendInterpolation(_ value: some PostgresEncodable) {
            statement.bind(value)
        }

        /// Binds a value or NULL.
        ///
        /// Separate from the overload above only so that the compiler does not warn about an optional in a string.
        package mutating func appendInterpolation<Value: PostgresEncodable>(_ value: Value?) {
            statement.bind(value)
        }

        /// Inserts another statement with its values.
        package mutating func appendInterpolation(_ other: Statement) {
            statement.append(other)
        }

        /// Inserts a name, quoted.
        ///
        /// Quote schema and table separately: `\(identifier: schema).\(identifier: table)`.
        package mutating func appendInterpolation(identifier name: String) {
            statement.append(literal: quoteIdentifier(name))
        }

        /// Inserts text as it is.
        ///
        /// Never build it from input.
        package mutating func appendInterpolation(unsafeSQL text: String) {
            statement.append(literal: text)
        }
    }
}

/// Quotes a name with double quotes, as SQL requires for names that are not plain lower-case words.
package func quoteIdentifier(_ name: String) -> String {
    quoted(name, by: "\"")
}

/// Quotes a text as an SQL literal, doubling quotes; for statements that take no parameters.
package func quoteLiteral(_ text: String) -> String {
    quoted(text, by: "'")
}

/// Quotes by scalars: a quotation mark with a combining accent is another Character, yet ends the name for the server,
/// which reads bytes.
private func quoted(_ text: String, by mark: Unicode.Scalar) -> String {
    var quoted = String.UnicodeScalarView([mark])
    for scalar in text.unicodeScalars {
        if scalar == mark { quoted.append(mark) }
        quoted.append(scalar)
    }
    quoted.append(mark)
    return String(quoted)
}
