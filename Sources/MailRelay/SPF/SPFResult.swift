/// The seven results of an SPF evaluation (RFC 7208, 2.6).
package enum SPFResult: String, Sendable, Hashable, CaseIterable {
    /// There is no policy, or no domain to look up.
    case none
    /// The domain says nothing about this sender.
    case neutral
    /// The sender may send.
    case pass
    /// The sender may not send.
    case fail
    /// The sender probably may not send.
    case softfail
    /// DNS did not answer; a retry may give another result.
    case temperror
    /// The policy is invalid or exceeds a limit.
    case permerror
}
