/// A strictly parsed JSON value, used for signed messages.
///
/// Duplicate members, excessive depth, numbers outside the grammar, stray bytes and invalid UTF-8 are refused, so
/// that two parsers cannot see different messages in the same bytes.
enum StrictJSON: Sendable, Hashable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([StrictJSON])
    case object([String: StrictJSON])

    /// Parses a whole text.
    ///
    /// - Parameters:
    ///   - bytes: UTF-8 text.
    ///   - maximumDepth: The maximum nesting depth of arrays and objects.
    /// - Throws: ``Problem``.
    init(parsing bytes: [UInt8], maximumDepth: Int = 8) throws(Problem) {
        var reader = StrictJSONReader(bytes: bytes, maximumDepth: maximumDepth)
        self = try reader.readDocument()
    }

    /// Why a text was refused.
    enum Problem: String, Error, Sendable, Hashable {
        /// Not JSON.
        case malformed
        /// Nested more deeply than allowed.
        case tooDeep
        /// A member that occurs twice in one object.
        case duplicateMember
        /// A string that is not valid Unicode.
        case invalidText
    }
}

extension StrictJSON {
    /// A member of an object; nil for other values and for a missing or null member.
    subscript(_ name: String) -> StrictJSON? {
        guard case .object(let members) = self, let member = members[name], member != .null else { return nil }
        return member
    }

    /// The text of a string.
    var text: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The value of a number, or of a string that spells a whole number.
    var numeric: Double? {
        switch self {
        case .number(let number): return number
        case .string(let text):
            guard (1...20).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
                return nil
            }
            return Double(text)
        default: return nil
        }
    }

    /// The value of a boolean, or of the strings `true` and `false`, which Apple also sends.
    var truth: Bool? {
        switch self {
        case .bool(let value): value
        case .string("true"): true
        case .string("false"): false
        default: nil
        }
    }
}
