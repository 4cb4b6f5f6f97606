/// Text is sent without a type, so that the server takes it as whatever the context requires: text, an enum, a network
/// address. It can be read from every type, in that type's text format.
extension String: PostgresEncodable, PostgresDecodable {
    package static var postgresType: UInt32 { TypeID.unspecified }
    package static var sendsText: Bool { true }
    package static var readsBinary: Bool { false }

    package func write(to bytes: inout [UInt8]) throws(EncodingFault) {
        let start = bytes.count
        bytes.append(contentsOf: utf8)
        if bytes[start...].contains(0) { throw .nul }
    }

    package static func read(_ cell: Cell?) throws(DecodingFault) -> String {
        guard let cell else { throw .null }
        if cell.isBinary {
            switch cell.type {
            case TypeID.text, TypeID.varchar, TypeID.bpchar, TypeID.name, TypeID.json, TypeID.unknown: break
            default: throw .type(cell.type)
            }
        }
        return cell.text
    }
}
