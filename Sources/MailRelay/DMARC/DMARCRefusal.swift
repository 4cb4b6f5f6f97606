/// Whether the From domain's own policy has receivers refuse mail that passes on no path of its own.
package enum DMARCRefusal: Sendable, Hashable {
    /// It does not.
    case none
    /// It does; a path counts only where its domain belongs to the From domain, or may do so.
    case unaligned(spfCounts: Bool, dkimCounts: Bool)
    /// DNS did not tell of the policy.
    case unknown

    /// Whether mail is refused where the paths stand so; what could not be told refuses nothing.
    func refuses(spf: PathVerdict, dkim: PathVerdict) -> Bool {
        guard case .unaligned(let spfCounts, let dkimCounts) = self else { return false }
        return !(spfCounts && spf != .broken) && !(dkimCounts && dkim != .broken)
    }
}
