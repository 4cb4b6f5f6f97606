import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Something by which an account can be recognised in data.
///
/// - Important: The value is personal data. Nothing here describes it; ``Kind`` is what may be told.
package struct Identifier: Sendable, Hashable, Codable {
    /// What sort of identifier it is.
    package enum Kind: String, Sendable, Hashable, Codable, CaseIterable, Comparable {
        /// The user id, with dashes, underscores or neither, in any case.
        case userID = "user_id"
        /// An e-mail address, relay addresses among them.
        case email
        /// A telephone number.
        case phone
        /// The id of the person at a sign-in provider; Apple's `sub`.
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

    /// An e-mail address, or nil for text that is none.
    package init?(email: String) {
        let address = email.lowercased().filter { !$0.isWhitespace }
        // By scalars: an accent behind the sign would make another character of it.
        let scalars = address.unicodeScalars
        guard let at = scalars.lastIndex(of: "@"), at > scalars.startIndex, scalars.index(after: at) < scalars.endIndex
        else { return nil }
        kind = .email
        value = address
    }

    /// A telephone number, or nil for text without digits.
    package init?(phone: String) {
        let digits = phone.filter { $0.isASCII && $0.isNumber }
        guard !digits.isEmpty else { return nil }
        kind = .phone
        value = digits
    }

    /// An id at a sign-in provider, or nil for no text.
    package init?(providerID: String) {
        guard !providerID.isEmpty else { return nil }
        kind = .providerID
        value = providerID.lowercased()
    }

    /// Whether it is long enough to be told from other words and numbers: what is shorter is not searched for.
    package var isSearchable: Bool { kind == .userID || kind == .email || value.utf8.count >= 8 }

    /// Its digits, where nothing but an identifier has so many in a column of whole numbers; nil where a counter may.
    var number: String? {
        guard kind != .userID, (10...40).contains(value.utf8.count), !value.hasPrefix("0"),
            value.utf8.allSatisfy(\.isASCIIDigit)
        else { return nil }
        return value
    }

    /// Whether another account can have the same identifier later.
    var canBeUsedAgain: Bool { kind != .userID }
}
