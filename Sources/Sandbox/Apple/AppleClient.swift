/// An app or a web site registered with the pretended Apple.
package struct AppleClient: Sendable {
    /// Where a client's codes come from.
    package enum Kind: String, Sendable, Codable {
        /// A native app: its codes go without a redirect URI.
        case bundle
        /// A Services ID: its codes carry the redirect URI of the authorize request.
        case services
    }

    let id: String
    let kind: Kind
    /// The primary App ID that consent is given to; equal to ``id`` unless the client was grouped under another.
    let group: String
    /// The team that owns the client.
    var teamID: String
    /// The transfer to another team that is under way or lately done.
    var transfer: AppleTransfer?
}

/// A client's move from one team to another.
struct AppleTransfer: Sendable {
    let from: String
    let to: String
    /// When the recipient accepted; identifiers can be exchanged for sixty days from then.
    var acceptedAt: Double?
}
