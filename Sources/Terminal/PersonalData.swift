/// A value that says something about a person, shown masked unless somebody asked, on the record, to see it.
package struct PersonalData: Sendable, Hashable {
    /// What sort of value it is, which decides how much of it may be seen.
    package enum Kind: Sendable, Hashable {
        case email, phone, name, identifier, address
    }

    let kind: Kind
    private let value: String

    package init(_ value: String, _ kind: Kind) {
        self.value = value
        self.kind = kind
    }

    /// The value itself.
    var revealed: String { value }

    /// Enough of the value to recognise what one already knows, and no more: `j***@e***.org`.
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
        // Joined as strings: put together from parts of them, they are joined a character at a time.
        String(text.prefix(1)) + "***"
    }

    /// The domain keeps its last label, which alone tells nobody apart.
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

/// Whether personal data is shown as it is.
package enum Disclosure: Sendable, Equatable {
    case masked
    /// Only after the look was written to the operator log.
    case revealed

    func show(_ data: PersonalData) -> String {
        switch self {
        case .masked: data.masked
        case .revealed: data.revealed
        }
    }
}
