/// The fields of an `application/x-www-form-urlencoded` body, decoded strictly.
struct FormBody: Sendable {
    /// Why a body is not a valid form.
    enum Fault: Error, Equatable, CustomStringConvertible {
        case malformed
        case repeated(String)

        var description: String {
            switch self {
            case .malformed: "a malformed form body"
            case .repeated(let name): "the field \(name) given twice"
            }
        }
    }

    private var fields: [String: String] = [:]

    init(_ bytes: [UInt8]) throws(Fault) {
        for pair in bytes.split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard
                let name = parts.first.flatMap({ PercentCoding.decode($0, plusIsSpace: true) }),
                let value = parts.count == 2 ? PercentCoding.decode(parts[1], plusIsSpace: true) : ""
            else { throw .malformed }
            guard fields.updateValue(value, forKey: name) == nil else { throw .repeated(name) }
        }
    }

    /// The value of a field, or nil when it is missing or empty.
    subscript(name: String) -> String? {
        fields[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}
