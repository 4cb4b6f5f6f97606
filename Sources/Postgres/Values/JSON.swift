#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A value stored as `jsonb`, encoded and decoded through `Codable`; dates in it are ISO 8601 text.
package struct JSON<Value: Codable & Sendable>: Sendable {
    /// The value itself.
    package var value: Value

    package init(_ value: Value) {
        self.value = value
    }
}

extension JSON: Equatable where Value: Equatable {}

extension JSON: PostgresEncodable, PostgresDecodable {
    package static var postgresType: UInt32 { TypeID.jsonb }
    package static var sendsText: Bool { true }
    package static var readsBinary: Bool { false }

    package func write(to bytes: inout [UInt8]) throws(EncodingFault) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        guard let data = try? encoder.encode(value) else { throw .json }
        bytes.append(contentsOf: data)
    }

    package static func read(_ cell: Cell?) throws(DecodingFault) -> JSON {
        guard let cell else { throw .null }
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        guard let value = try? decoder.decode(Value.self, from: Data(cell.bytes)) else { throw .malformed }
        return JSON(value)
    }
}
