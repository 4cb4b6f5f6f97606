import Postgres
import Sealing

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Something by which an account can be recognised in data.
///
/// - Important: The value is personal data. Nothing here describes it; only ``Kind`` may be shown.
package struct Identifier: Sendable, Hashable, Codable {
    /// The kind of an identifier.
    package enum Kind: String, Sendable, Hashable, Codable, CaseIterable, Comparable {
        /// The user id, with dashes, underscores or neither, in any case.
        case userID = "user_id"
        /// An e-mail address, including relay addresses.
        case email
        /// A telephone number.
        case phone
        /// The person's id at a sign-in provider; Apple's `sub`.
        case providerID = "provider_id"

        package static func < (left: Kind, right: Kind) -> Bool { left.rawValue < right.rawValue }
    }

    package let kind: Kind
    /// The value in the form that is searched for: lower case; digits only for a telephone number.
    package let value: String

    /// The user id.
    package init(userID: UUID) {
        kind = .userID
        value = userID.text
    }

    /// An e-mail address; nil for text that is not one.
    package init?(email: String) {
        let address = email.trimming(while: \.isWhitespace).lowercased()
        // By scalars, since a combining accent after the at sign would form another `Character` with it.
        let scalars = address.unicodeScalars
        guard let at = scalars.lastIndex(of: "@"), at > scalars.startIndex, scalars.index(after: at) < scalars.endIndex
        else { return nil }
        kind = .email
        value = address
    }

    /// A telephone number; nil for text without digits.
    package init?(phone: String) {
        let digits = phone.filter { $0.isASCII && $0.isNumber }
        guard !digits.isEmpty else { return nil }
        kind = .phone
        value = digits
    }

    /// An id at a sign-in provider; nil for an empty text.
    package init?(providerID: String) {
        guard !providerID.isEmpty else { return nil }
        kind = .providerID
        value = providerID.lowercased()
    }

    /// Compares bytes, as the search does: Swift takes two spellings of one accented letter for equal.
    package static func == (left: Identifier, right: Identifier) -> Bool {
        left.kind == right.kind && left.value.utf8.elementsEqual(right.value.utf8)
    }

    /// Whether it is long enough to be distinguished from other words and numbers; shorter ones are not searched for.
    package var isSearchable: Bool { kind == .userID || kind == .email || value.utf8.count >= 8 }

    /// Its digits, if they are so many that only an identifier has them in a column of whole numbers; nil if a counter
    /// may.
    var number: String? {
        guard kind != .userID, (10...40).contains(value.utf8.count), !value.hasPrefix("0"),
            value.utf8.allSatisfy(\.isASCIIDigit)
        else { return nil }
        return value
    }

    /// Whether another account can have the same identifier later.
    var canBeUsedAgain: Bool { kind != .userID }
}
