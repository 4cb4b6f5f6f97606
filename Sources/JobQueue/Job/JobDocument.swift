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
    package static let empty = JobDocument(uncheckedJSON: "{}")

    /// Takes text that is JSON already; the database refuses it otherwise.
    package init(uncheckedJSON json: String) {
        self.json = json
    }

    /// Takes text that somebody typed.
    ///
    /// - Throws: ``JobQueueError`` naming `field` when it is not one JSON object.
    package init(object text: String, field: String = "arguments") throws(JobQueueError) {
        struct Anything: Decodable {
            init(from decoder: any Decoder) throws { _ = try decoder.container(keyedBy: NoKey.self) }
        }
        enum NoKey: CodingKey {}
        do {
            _ = try JSONDecoder().decode(Anything.self, from: Data(text.utf8))
        } catch {
            throw .invalid(field, "must be a JSON object")
        }
        json = text
    }

    /// Encodes a value.
    ///
    /// - Throws: `EncodingError`, or ``JobQueueError`` naming `field` when the text is longer than `limit` bytes.
    package init(encoding value: some Encodable, field: String = "arguments", limit: Int = 262_144) throws {
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
}
