/// An app or a web site registered with the simulated Apple.
package struct AppleClient: Sendable {
    /// The kind of a client, which determines how it gets codes.
    package enum Kind: String, Sendable, Codable {
        /// A native app: its codes are exchanged without a redirect URI.
        case bundle
        /// A Services ID: its codes are bound to the redirect URI of the authorize request.
        case services
    }

    let id: String
    let kind: Kind
    /// The primary App ID that consent is given to; equal to ``id`` unless the client is grouped under another.
    let group: String
    /// The team that owns the client.
    var teamID: String
    /// The transfer to another team, in progress or recently accepted.
    var transfer: AppleTransfer?
}

/// A client's transfer from one team to another.
struct AppleTransfer: Sendable {
    let from: String
    let to: String
    /// When the recipient accepted; identifiers can be exchanged for sixty days from then.
    var acceptedAt: Double?
}
