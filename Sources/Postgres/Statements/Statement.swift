import LibPQ

/// SQL with the values that belong to it, made by string interpolation.
///
/// `"select name from users where id = \(id)"` becomes `select name from users where id = $1` and one bound value: no
/// value ever becomes part of the text. What is not a value is spelled out:
/// ``StringInterpolation/appendInterpolation(identifier:)`` quotes a name, `\(unsafeSQL: text)` and
/// ``init(unsafeSQL:)`` take text as it is.
package struct Statement: Sendable, ExpressibleByStringInterpolation, CustomStringConvertible {
    /// The text with `$n` in the place of values.
    package private(set) var text: String

    private(set) var parameters = Parameters()

    /// The UTF-8 offsets of each `$n`, for renumbering when statements are joined.
    private var placeholders: [Range<Int>] = []

    /// What cannot be sent; thrown when the statement runs, since interpolation cannot throw.
    var fault: EncodingFault? { textFault ?? valueFault }

    /// A NUL in the text; looked for when the text is made, not at each run.
    private var textFault: EncodingFault?

    /// Why the first value that cannot be sent cannot.
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

    /// The text, which holds no values.
    package var description: String { text }

    /// Joins two statements, with the values of both.
    package static func + (left: Statement, right: Statement) -> Statement {
        var joined = left
        joined.append(right)
        return joined
    }

    /// Joins another statement to this one.
    package static func += (left: inout Statement, right: Statement) {
        left.append(right)
    }

    /// This statement with other values, in the order of its placeholders: putting a long text together takes
    /// longer than running it, where it runs thousands of times a second.
    ///
    /// As many values as it has, of the same types.
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
        // Slices of the text, which are copied as they are: no array of bytes that would be read as text again. Not by
        // `+=`, which is that of any collection: its first use has the runtime read through all conformances of the
        // program.
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

    /// Binds the value of the next placeholder that has none.
    private mutating func bindNext<Value: PostgresEncodable>(_ value: Value) {
        let count = parameters.count
        do throws(EncodingFault) {
            try value.bind(to: &parameters)
        } catch {
            valueFault = valueFault ?? error
            // One value for each placeholder, also where half of it was written.
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
        /// Apart from the one above only so that the compiler does not warn of an optional in a string.
        package mutating func appendInterpolation<Value: PostgresEncodable>(_ value: Value?) {
            statement.bind(value)
        }

        /// Inserts another statement with its values.
        package mutating func appendInterpolation(_ other: Statement) {
            statement.append(other)
        }

        /// Inserts a name, quoted.
        ///
        /// Give schema and table apart: `\(identifier: schema).\(identifier: table)`.
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

/// A name in double quotes, as SQL wants names that are not plain lower-case words.
package func quoteIdentifier(_ name: String) -> String {
    quoted(name, by: "\"")
}

/// A text as an SQL literal, quotes doubled; for statements that take no parameters.
package func quoteLiteral(_ text: String) -> String {
    quoted(text, by: "'")
}

/// By scalars: a mark with an accent on it is another character, and ends the name all the same to the server, which
/// reads bytes.
private func quoted(_ text: String, by mark: Unicode.Scalar) -> String {
    var quoted = String.UnicodeScalarView([mark])
    for scalar in text.unicodeScalars {
        if scalar == mark { quoted.append(mark) }
        quoted.append(scalar)
    }
    quoted.append(mark)
    return String(quoted)
}
