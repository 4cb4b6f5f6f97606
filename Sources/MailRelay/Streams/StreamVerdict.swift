/// The verdict on one path to the relay.
package enum PathVerdict: String, Sendable, Hashable, CaseIterable, Codable {
    /// Mail gets through on this path.
    case ok
    /// Mail gets through on this path today, but something about it should be fixed.
    case weak
    /// Mail does not get through on this path.
    case broken
    /// DNS did not answer, or too little is known about the stream.
    case unknown
}

/// Whether mail of a stream reaches the relay.
package enum Reachability: String, Sendable, Hashable, CaseIterable, Codable {
    /// At least one path works and its name is registered.
    case yes
    /// Neither path works, the From domain's policy makes receivers reject the mail, or the envelope domain does not
    /// exist.
    case no
    /// Whether mail gets through is unknown.
    case unknown
}

/// The verdict on a stream; Apple accepts mail of a registered source on either path.
package struct StreamVerdict: Sendable, Hashable {
    /// The SPF path: the envelope domain's policy and the provider's addresses.
    package let spf: PathVerdict
    /// The DKIM path: the keys, and whether the signing domain is the From domain.
    package let dkim: PathVerdict
    /// Whether the envelope domain is registered; nil if nothing was stated.
    package let envelopeRegistered: Bool?
    /// Whether the From domain is registered; nil if nothing was stated.
    package let fromRegistered: Bool?
    /// Whether the From domain's policy rejects unaligned mail.
    let refusal: DMARCRefusal
    /// Whether the envelope domain exists; if it does not, no path works.
    let sender: SenderDomain
    /// Whether DNS left a question about a path unanswered, so that another run may learn more.
    ///
    /// A path is also unknown if too little was stated about it, but then another run does not help.
    let isSilent: Bool

    /// A verdict; without `isSilent`, an unknown path counts as one that DNS left unanswered.
    package init(
        spf: PathVerdict,
        dkim: PathVerdict,
        envelopeRegistered: Bool?,
        fromRegistered: Bool?,
        refusal: DMARCRefusal = .none,
        sender: SenderDomain = .exists,
        isSilent: Bool? = nil
    ) {
        self.spf = spf
        self.dkim = dkim
        self.envelopeRegistered = envelopeRegistered
        self.fromRegistered = fromRegistered
        self.refusal = refusal
        self.sender = sender
        self.isSilent = isSilent ?? (spf == .unknown || dkim == .unknown)
    }

    /// Whether mail reaches the relay; names without a stated registration count as registered.
    package var reachable: Reachability { reachable(spf: spf, dkim: dkim) }

    /// Whether mail reaches the relay given these verdicts on the paths.
    func reachable(spf: PathVerdict, dkim: PathVerdict) -> Reachability {
        if sender == .missing || refusal.refuses(spf: spf, dkim: dkim) { return .no }
        let paths = [Self.reach(spf, envelopeRegistered), Self.reach(dkim, fromRegistered)]
        if paths.contains(.yes) { return .yes }
        return paths.contains(.unknown) ? .unknown : .no
    }

    /// Whether both paths work, so that either may break without loss.
    package var isRobust: Bool {
        spf == .ok && dkim == .ok && reachable(spf: .broken, dkim: dkim) == .yes
            && reachable(spf: spf, dkim: .broken) == .yes
    }

    private static func reach(_ path: PathVerdict, _ registered: Bool?) -> Reachability {
        guard registered != false else { return .no }
        return switch path {
        case .ok, .weak: .yes
        case .broken: .no
        case .unknown: .unknown
        }
    }
}
