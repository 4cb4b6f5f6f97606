/// Whether the envelope domain can be a sender's: Apple refuses mail from a name that does not exist before it looks at
/// any signature.
package enum SenderDomain: Sendable, Hashable {
    /// The name exists, whatever stands at it.
    case exists
    /// It does not; nothing else makes it one that cannot send.
    case missing
    /// DNS did not tell.
    case unknown
}
