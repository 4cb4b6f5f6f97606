/// An enumeration of words is read as text; a word that it does not know does not fit.
extension PostgresDecodable where Self: RawRepresentable, RawValue == String {
    package static var readsBinary: Bool { false }

    package static func read(_ cell: Cell?) throws(DecodingFault) -> Self {
        guard let value = Self(rawValue: try String.read(cell)) else { throw .outOfRange }
        return value
    }
}
