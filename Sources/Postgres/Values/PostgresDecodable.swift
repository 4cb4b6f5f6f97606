/// A type as which a column can be read.
package protocol PostgresDecodable: Sendable {
    /// Whether the server should send the type in binary.
    ///
    /// The format is chosen per statement: binary if every column's Swift type returns true here, text otherwise. Types
    /// that return true can read both.
    static var readsBinary: Bool { get }

    /// Reads one value; nil is NULL.
    static func read(_ cell: Cell?) throws(DecodingFault) -> Self
}

extension PostgresDecodable {
    package static var readsBinary: Bool { true }
}

extension Optional: PostgresDecodable where Wrapped: PostgresDecodable {
    package static var readsBinary: Bool { Wrapped.readsBinary }

    package static func read(_ cell: Cell?) throws(DecodingFault) -> Wrapped? {
        guard cell != nil else { return nil }
        return try Wrapped.read(cell)
    }
}

/// One value as received; valid only while it is being read.
package struct Cell {
    /// The bytes, in the format given by ``isBinary``.
    let bytes: UnsafeRawBufferPointer
    /// The object id of the column's type.
    let type: UInt32
    /// Whether the bytes are in the type's binary format.
    let isBinary: Bool

    /// The bytes as text; for a binary value, valid only if both formats are the same.
    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Reads a number in network byte order at an offset that the caller has checked.
    func load<Number: FixedWidthInteger>(_ type: Number.Type, at offset: Int = 0) -> Number {
        Number(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Number.self))
    }
}

/// Why a value cannot be read as the requested type.
package enum DecodingFault: Error, Sendable, Equatable {
    /// NULL, and the Swift type is not optional.
    case null
    /// The Swift type does not read this database type.
    case type(UInt32)
    /// The value does not fit the Swift type.
    case outOfRange
    /// The bytes do not match the type's format.
    case malformed

    var reason: String {
        switch self {
        case .null: "it is NULL"
        case .type(let id): "its type is \(TypeID.name(id)): cast it in the statement"
        case .outOfRange: "the value does not fit"
        case .malformed: "the value is malformed"
        }
    }
}
