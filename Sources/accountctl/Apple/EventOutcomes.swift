import AccountLifecycle

/// The outcomes of credential events, as commands show and take them.
enum EventOutcomes {
    /// The word for an event that is not handled yet.
    static let waiting = "waiting"

    /// Every outcome, for `--outcome`.
    static let names = [waiting] + CredentialRules.Outcome.allCases.map(\.rawValue)

    /// Every outcome with its meaning, for the help.
    static let table: String = {
        let width = names.map(\.utf8.count).max() ?? 0
        let meanings = ["not handled yet"] + CredentialRules.Outcome.allCases.map(\.meaning)
        return zip(names, meanings).map { name, meaning in
            "  " + name + String(repeating: " ", count: width - name.utf8.count) + "  " + meaning
        }.joined(separator: "\n")
    }()
}

extension CredentialRules.Outcome {
    fileprivate var meaning: String {
        switch self {
        case .done: "the reactions that apple.on_... sets were carried out"
        case .otherSignIn: "the same, but no deletion: the account has another way to sign in"
        case .noReaction: "the settings say to do nothing"
        case .stale: "the person has signed in since"
        case .echo: "caused by an erasure of accountctl"
        case .unknownAccount: "no account has this identity"
        case .unknownType: "an undocumented type"
        case .deviceOnly: "concerns only the device"
        case .noted: "nothing to do"
        case .notConfirmed: "Apple says that the grant is alive"
        case .notConfirmable: "Apple gave no clear answer, gave none for a day, or was asked before"
        case .nothingHeld: "no credential with which to ask Apple"
        case .forwarding: "forwarding of a relay address was switched on or off"
        case .notTracked: "the event names no address"
        }
    }
}
