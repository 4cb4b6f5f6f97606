/// Whether the envelope domain exists: Apple refuses mail from a non-existent domain before it checks any signature.
package enum SenderDomain: Sendable, Hashable {
    /// The name exists, whatever records it has.
    case exists
    /// The name does not exist; this alone makes a domain unusable as a sender.
    case missing
    /// DNS did not answer.
    case unknown
}
