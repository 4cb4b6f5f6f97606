/// Whether the From domain's DMARC policy makes receivers reject mail that passes on no aligned path.
package enum DMARCRefusal: Sendable, Hashable {
    /// The policy rejects no mail.
    case none
    /// The policy rejects unaligned mail; a path counts only if its domain aligns, or may align, with the From domain.
    case unaligned(spfCounts: Bool, dkimCounts: Bool)
    /// DNS did not answer the question for the policy.
    case unknown

    /// Whether mail is rejected given the verdicts on the paths; an unknown policy rejects nothing.
    func refuses(spf: PathVerdict, dkim: PathVerdict) -> Bool {
        guard case .unaligned(let spfCounts, let dkimCounts) = self else { return false }
        return !(spfCounts && spf != .broken) && !(dkimCounts && dkim != .broken)
    }
}
