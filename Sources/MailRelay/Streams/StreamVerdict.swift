/// How one path to the relay stands.
package enum PathVerdict: String, Sendable, Hashable, CaseIterable, Codable {
    /// Mail gets through on this path.
    case ok
    /// It does today, and something about it should be mended.
    case weak
    /// It does not.
    case broken
    /// DNS did not answer, or too little is known of the stream.
    case unknown
}

/// Whether mail of a stream reaches the relay.
package enum Reachability: String, Sendable, Hashable, CaseIterable, Codable {
    /// At least one path works and its name is registered.
    case yes
    /// No path does, the From domain's own policy has the mail refused, or the envelope domain does not exist.
    case no
    /// It cannot be told.
    case unknown
}

/// The verdict on a stream (Apple lets mail through on either path of a registered source).
package struct StreamVerdict: Sendable, Hashable {
    /// The SPF path: the envelope domain's policy and the provider's addresses.
    package let spf: PathVerdict
    /// The DKIM path: the keys, and whether the From domain itself signs.
    package let dkim: PathVerdict
    /// Whether the envelope domain is registered; nil when nothing was said.
    package let envelopeRegistered: Bool?
    /// Whether the From domain is registered; nil when nothing was said.
    package let fromRegistered: Bool?
    /// What the From domain's policy asks of mail that is not its own.
    let refusal: DMARCRefusal
    /// Whether the envelope domain exists; no path leads past one that does not.
    let sender: SenderDomain
    /// Whether DNS kept silent on a path, so that another run may tell more.
    ///
    /// A path of which too little was stated is unknown as well, and stays so however often DNS answers.
    let isSilent: Bool

    /// A verdict; without `isSilent` an unknown path counts as one on which DNS kept silent.
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

    /// Whether mail reaches the relay; what was not said of registration counts as done.
    package var reachable: Reachability { reachable(spf: spf, dkim: dkim) }

    /// Whether mail reaches the relay where the paths stand so.
    func reachable(spf: PathVerdict, dkim: PathVerdict) -> Reachability {
        if sender == .missing || refusal.refuses(spf: spf, dkim: dkim) { return .no }
        let paths = [Self.reach(spf, envelopeRegistered), Self.reach(dkim, fromRegistered)]
        if paths.contains(.yes) { return .yes }
        return paths.contains(.unknown) ? .unknown : .no
    }

    /// Whether both paths work, so that one may break without loss.
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
