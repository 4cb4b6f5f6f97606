/// An enumeration with string raw values is read as text; an unknown value is `outOfRange`.
extension PostgresDecodable where Self: RawRepresentable, RawValue == String {
    package static var readsBinary: Bool { false }

    package static func read(_ cell: Cell?) throws(DecodingFault) -> Self {
        guard let value = Self(rawValue: try String.read(cell)) else { throw .outOfRange }
        return value
    }
}
