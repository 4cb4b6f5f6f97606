/// The kinds of identifiers that a lookup's term may be.
package enum LookupKind: String, Sendable, CaseIterable, Codable {
    case userID = "id"
    case email
    case phone
    case appleSub = "apple-sub"
    /// The id an account has at any other provider.
    case providerID = "provider-id"
    case username
    /// The id of a deletion request.
    case request
    /// The number of a receipt.
    case receipt
}
