#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension OutputValue: Decodable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let values = try? container.decode([OutputValue].self) {
            self = .list(values)
        } else {
            self = .object(try container.decode([String: OutputValue].self))
        }
    }

    /// Parses a JSON text; invalid text is shown unchanged.
    package static func json(_ text: String) -> OutputValue {
        (try? JSONDecoder().decode(OutputValue.self, from: Data(text.utf8))) ?? .text(text)
    }
}
