#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A JSON value as text: the arguments, output or progress of a job.
///
/// Dates are written in ISO 8601 with whole seconds. Keys are sorted, so that equal values have equal texts.
package struct JobDocument: Sendable, Hashable {
    /// The JSON text.
    package let json: String

    /// An empty object.
    static let empty = JobDocument(uncheckedJSON: "{}")

    /// Wraps text that is known to be JSON, such as from the database.
    init(uncheckedJSON json: String) {
        self.json = json
    }

    /// Validates text that a user typed.
    ///
    /// - Throws: ``JobQueueError`` naming `field` if it is not one JSON object.
    package init(object text: String, field: String = "arguments") throws(JobQueueError) {
        // Parsed completely: the database would refuse a malformed part without naming a field.
        guard (try? JSONDecoder().decode([String: JSONSyntax].self, from: Data(text.utf8))) != nil else {
            throw .invalid(field, "must be a JSON object, with numbers that fit a double")
        }
        // Without the blanks and the byte order mark before it: a new job tells an object by its first byte.
        json = String(text.drop { $0.isWhitespace || $0 == "\u{FEFF}" })
    }

    /// Encodes a value.
    ///
    /// - Throws: `EncodingError`, or ``JobQueueError`` naming `field` if the text is longer than `limit` bytes.
    package init(
        encoding value: some Encodable,
        field: String = "arguments",
        limit: Int = JobField.argumentsLimit
    ) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        let data = try encoder.encode(value)
        guard data.count <= limit else {
            throw JobQueueError.invalid(field, "must not exceed \(limit) bytes as JSON, and is \(data.count)")
        }
        json = String(decoding: data, as: UTF8.self)
    }

    /// Decodes the value.
    ///
    /// - Throws: `DecodingError`.
    package func decode<Value: Decodable>(as type: Value.Type) throws -> Value {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        return try decoder.decode(type, from: Data(json.utf8))
    }

    /// Whether one of its strings contains a NUL character, which the database cannot store; `u0000` after an escaped
    /// backslash is not one.
    var holdsNUL: Bool {
        var bytes = json.utf8[...]
        while let backslash = bytes.firstIndex(of: UInt8(ascii: "\\")) {
            bytes = bytes[backslash...].dropFirst()
            if bytes.starts(with: "u0000".utf8) { return true }
            bytes = bytes.dropFirst()
        }
        return false
    }
}
