#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// An element type of arrays.
package protocol PostgresArrayElement: Sendable {
    /// The object id of the type as which an array of this element is sent.
    static var arrayType: UInt32 { get }

    /// Whether the server should send arrays of it in binary.
    static var readsBinaryArray: Bool { get }

    /// Writes an array in binary format.
    static func writeArray(_ elements: [Self], to bytes: inout [UInt8]) throws(EncodingFault)

    /// Reads an array.
    static func readArray(_ cell: Cell) throws(DecodingFault) -> [Self]
}

/// A plain element: an array of them is PostgreSQL's array of its type.
package protocol PostgresScalar: PostgresArrayElement, PostgresEncodable, PostgresDecodable {
    /// The object id of one element inside an array.
    static var elementType: UInt32 { get }
}

extension PostgresScalar {
    package static var elementType: UInt32 { postgresType }
    package static var readsBinaryArray: Bool { readsBinary }

    package static func writeArray(_ elements: [Self], to bytes: inout [UInt8]) throws(EncodingFault) {
        try ArrayFormat.write(elements, elementType: elementType, to: &bytes)
    }

    package static func readArray(_ cell: Cell) throws(DecodingFault) -> [Self] {
        try ArrayFormat.read(cell, elementType: elementType, as: Self.self)
    }
}

extension Bool: PostgresScalar {
    package static var arrayType: UInt32 { TypeID.boolArray }
}

extension Int16: PostgresScalar {
    package static var arrayType: UInt32 { TypeID.int2Array }
}

extension Int32: PostgresScalar {
    package static var arrayType: UInt32 { TypeID.int4Array }
}

extension Int64: PostgresScalar {
    package static var arrayType: UInt32 { TypeID.int8Array }
}

extension Int: PostgresScalar {
    package static var arrayType: UInt32 { TypeID.int8Array }
}

extension Double: PostgresScalar {
    package static var arrayType: UInt32 { TypeID.float8Array }
}

extension UUID: PostgresScalar {
    package static var arrayType: UInt32 { TypeID.uuidArray }
}

extension Date: PostgresScalar {
    package static var arrayType: UInt32 { TypeID.timestamptzArray }
}

/// Arrays of strings are sent with a type, `text[]`, unlike single strings: `unnest` requires one.
extension String: PostgresScalar {
    package static var arrayType: UInt32 { TypeID.textArray }
    package static var elementType: UInt32 { TypeID.text }
}

extension Optional: PostgresArrayElement where Wrapped: PostgresScalar {
    package static var arrayType: UInt32 { Wrapped.arrayType }
    package static var readsBinaryArray: Bool { Wrapped.readsBinary }

    package static func writeArray(_ elements: [Wrapped?], to bytes: inout [UInt8]) throws(EncodingFault) {
        try ArrayFormat.write(elements, elementType: Wrapped.elementType, to: &bytes)
    }

    package static func readArray(_ cell: Cell) throws(DecodingFault) -> [Wrapped?] {
        try ArrayFormat.read(cell, elementType: Wrapped.elementType, as: Self.self)
    }
}

/// Bytes are `bytea`, not an array of anything.
extension UInt8: PostgresArrayElement {
    package static var arrayType: UInt32 { TypeID.bytea }
    package static var readsBinaryArray: Bool { true }

    package static func writeArray(_ elements: [UInt8], to bytes: inout [UInt8]) throws(EncodingFault) {
        bytes += elements
    }

    package static func readArray(_ cell: Cell) throws(DecodingFault) -> [UInt8] {
        guard cell.type == TypeID.bytea else { throw .type(cell.type) }
        if cell.isBinary { return Array(cell.bytes) }
        let text = cell.bytes
        // The server has two output formats for bytes; in the one without this prefix a backslash is doubled.
        return try text.starts(with: "\\x".utf8) ? readHex(text) : readEscaped(text)
    }

    private static func readHex(_ text: UnsafeRawBufferPointer) throws(DecodingFault) -> [UInt8] {
        guard text.count % 2 == 0 else { throw .malformed }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 2 - 1)
        for index in stride(from: 2, to: text.count, by: 2) {
            guard let high = hexDigit(text[index]), let low = hexDigit(text[index + 1]) else { throw .malformed }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    /// Decodes the escape format: a doubled backslash, a backslash and three octal digits, or the byte itself.
    private static func readEscaped(_ text: UnsafeRawBufferPointer) throws(DecodingFault) -> [UInt8] {
        let backslash = UInt8(ascii: "\\")
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var index = 0
        while index < text.count {
            if text[index] != backslash {
                bytes.append(text[index])
                index += 1
            } else if index + 1 < text.count, text[index + 1] == backslash {
                bytes.append(backslash)
                index += 2
            } else {
                guard index + 3 < text.count else { throw .malformed }
                let digits = text[(index + 1)...(index + 3)]
                guard let byte = UInt8(String(decoding: digits, as: UTF8.self), radix: 8) else { throw .malformed }
                bytes.append(byte)
                index += 4
            }
        }
        return bytes
    }

    private static func hexDigit(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}

extension Array: PostgresEncodable where Element: PostgresArrayElement {
    package static var postgresType: UInt32 { Element.arrayType }

    package func write(to bytes: inout [UInt8]) throws(EncodingFault) {
        try Element.writeArray(self, to: &bytes)
    }
}

extension Array: PostgresDecodable where Element: PostgresArrayElement {
    package static var readsBinary: Bool { Element.readsBinaryArray }

    package static func read(_ cell: Cell?) throws(DecodingFault) -> [Element] {
        guard let cell else { throw .null }
        return try Element.readArray(cell)
    }
}
