#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

extension UUID: PostgresEncodable, PostgresDecodable {
    package static var postgresType: UInt32 { TypeID.uuid }

    package func write(to bytes: inout [UInt8]) throws(EncodingFault) {
        withUnsafeBytes(of: uuid) { bytes.append(contentsOf: $0) }
    }

    package static func read(_ cell: Cell?) throws(DecodingFault) -> UUID {
        guard let cell else { throw .null }
        guard cell.type == TypeID.uuid else { throw .type(cell.type) }
        if cell.isBinary {
            guard cell.bytes.count == 16 else { throw .malformed }
            return UUID(uuid: cell.bytes.loadUnaligned(as: uuid_t.self))
        }
        guard let id = UUID(uuidString: cell.text) else { throw .malformed }
        return id
    }
}

extension UUID {
    /// The id in Postgres's text format: lower case.
    package var text: String { uuidString.lowercased() }
}
