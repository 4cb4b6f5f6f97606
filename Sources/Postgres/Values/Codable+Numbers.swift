/// An integer that reads any integer type whose value fits, and writes its own width.
protocol PostgresInteger: PostgresEncodable, PostgresDecodable, FixedWidthInteger {}

extension PostgresInteger {
    package func write(to bytes: inout [UInt8]) throws(EncodingFault) {
        bytes.append(bigEndian: self)
    }

    package static func read(_ cell: Cell?) throws(DecodingFault) -> Self {
        guard let cell else { throw .null }
        let value: Int64
        if cell.isBinary {
            switch (cell.type, cell.bytes.count) {
            case (TypeID.int8, 8): value = cell.load(Int64.self)
            case (TypeID.int4, 4): value = Int64(cell.load(Int32.self))
            case (TypeID.int2, 2): value = Int64(cell.load(Int16.self))
            case (TypeID.oid, 4): value = Int64(cell.load(UInt32.self))
            default: throw .type(cell.type)
            }
        } else {
            value = try readText(cell)
        }
        guard let fitting = Self(exactly: value) else { throw .outOfRange }
        return fitting
    }

    private static func readText(_ cell: Cell) throws(DecodingFault) -> Int64 {
        switch cell.type {
        case TypeID.int8, TypeID.int4, TypeID.int2, TypeID.oid: break
        default: throw .type(cell.type)
        }
        guard let value = Int64(cell.text) else { throw .malformed }
        return value
    }
}

extension Int: PostgresInteger {
    package static var postgresType: UInt32 { TypeID.int8 }
}

extension Int64: PostgresInteger {
    package static var postgresType: UInt32 { TypeID.int8 }
}

extension Int32: PostgresInteger {
    package static var postgresType: UInt32 { TypeID.int4 }
}

extension Int16: PostgresInteger {
    package static var postgresType: UInt32 { TypeID.int2 }
}

extension Double: PostgresEncodable, PostgresDecodable {
    package static var postgresType: UInt32 { TypeID.float8 }

    package func write(to bytes: inout [UInt8]) throws(EncodingFault) {
        bytes.append(bigEndian: bitPattern)
    }

    package static func read(_ cell: Cell?) throws(DecodingFault) -> Double {
        guard let cell else { throw .null }
        if cell.isBinary {
            switch (cell.type, cell.bytes.count) {
            case (TypeID.float8, 8): return Double(bitPattern: cell.load(UInt64.self))
            case (TypeID.float4, 4): return Double(Float(bitPattern: cell.load(UInt32.self)))
            default: throw .type(cell.type)
            }
        }
        guard cell.type == TypeID.float8 || cell.type == TypeID.float4 else { throw .type(cell.type) }
        switch cell.text {
        case "NaN": return .nan
        case "Infinity": return .infinity
        case "-Infinity": return -.infinity
        case let text:
            guard let value = Double(text) else { throw .malformed }
            return value
        }
    }
}

extension Bool: PostgresEncodable, PostgresDecodable {
    package static var postgresType: UInt32 { TypeID.bool }

    package func write(to bytes: inout [UInt8]) throws(EncodingFault) {
        bytes.append(self ? 1 : 0)
    }

    package static func read(_ cell: Cell?) throws(DecodingFault) -> Bool {
        guard let cell else { throw .null }
        guard cell.type == TypeID.bool else { throw .type(cell.type) }
        guard cell.bytes.count == 1 else { throw .malformed }
        return cell.bytes[0] == (cell.isBinary ? 1 : UInt8(ascii: "t"))
    }
}
