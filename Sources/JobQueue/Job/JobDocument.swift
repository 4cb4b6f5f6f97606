#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A JSON value as text: arguments, output or progress of a job.
///
/// Dates are written in ISO 8601 with whole seconds. Keys are sorted, so that equal values have equal texts.
package struct JobDocument: Sendable, Hashable {
    /// The JSON text.
    package let json: String

    /// An object without members.
    static let empty = JobDocument(uncheckedJSON: "{}")

    /// Takes text that is JSON already, such as the database gave.
    init(uncheckedJSON json: String) {
        self.json = json
    }

    /// Takes text that somebody typed.
    ///
    /// - Throws: ``JobQueueError`` naming `field` when it is not one JSON object.
    package init(object text: String, field: String = "arguments") throws(JobQueueError) {
        // Read to the last string: one that is out of form would be refused by the database, which knows no field.
        guard (try? JSONDecoder().decode([String: JSONSyntax].self, from: Data(text.utf8))) != nil else {
            throw .invalid(field, "must be a JSON object, with numbers that fit a double")
        }
        json = text
    }

    /// Encodes a value.
    ///
    /// - Throws: `EncodingError`, or ``JobQueueError`` naming `field` when the text is longer than `limit` bytes.
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

    /// Whether a NUL character is in one of its strings, which the database cannot store; an escaped backslash before
    /// `u0000` is none.
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
