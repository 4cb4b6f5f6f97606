/// A personal value, masked unless an operator asked to see it and that was recorded.
package struct PersonalData: Sendable, Hashable {
    /// The kind of value, which determines how much of it is shown.
    package enum Kind: Sendable, Hashable {
        case email, phone, name, identifier, address
    }

    let kind: Kind
    private let value: String

    package init(_ value: String, _ kind: Kind) {
        self.value = value
        self.kind = kind
    }

    /// The unmasked value.
    var revealed: String { value }

    /// Just enough of the value to recognise it if already known: `j***@e***.org`.
    package var masked: String {
        guard !value.isEmpty else { return "" }
        switch kind {
        case .email: return Self.maskEmail(value)
        case .phone: return "***" + String(value.suffix(2))
        case .name: return Self.firstCharacter(of: value)
        case .identifier: return value.count > 12 ? String(value.prefix(6)) + "***" : Self.firstCharacter(of: value)
        case .address: return "***"
        }
    }

    private static func firstCharacter(of text: some StringProtocol) -> String {
        // Joined as strings, since joining substrings appends one character at a time.
        String(text.prefix(1)) + "***"
    }

    /// Masks an address; its top-level domain stays, which identifies nobody by itself.
    private static func maskEmail(_ value: String) -> String {
        guard let at = value.lastIndex(of: "@") else { return firstCharacter(of: value) }
        let domain = value[value.index(after: at)...]
        let labels = domain.split(separator: ".")
        let top = labels.count > 1 ? "." + String(labels[labels.count - 1]) : ""
        return firstCharacter(of: value[..<at]) + "@" + firstCharacter(of: domain) + top
    }
}

extension PersonalData: CustomStringConvertible, CustomDebugStringConvertible {
    package var description: String { masked }
    package var debugDescription: String { masked }
}

/// Whether personal data is masked.
package enum Disclosure: Sendable, Equatable {
    case masked
    /// Only after the access was recorded in the operator log.
    case revealed

    func show(_ data: PersonalData) -> String {
        switch self {
        case .masked: data.masked
        case .revealed: data.revealed
        }
    }
}
