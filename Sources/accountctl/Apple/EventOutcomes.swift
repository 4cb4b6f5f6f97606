import AccountLifecycle

/// The outcomes of credential events, as they are shown and asked for.
enum EventOutcomes {
    /// The word for an event that is not handled.
    static let waiting = "waiting"

    /// Every outcome, for `--outcome`.
    static let names = [waiting] + CredentialRules.Outcome.allCases.map(\.rawValue)

    /// Every one with what it means, for help.
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
        case .done: "the reactions of the policy were carried out"
        case .otherSignIn: "the same without a deletion: the person has another way to sign in"
        case .noReaction: "the policy says to do nothing"
        case .stale: "the person came back since"
        case .echo: "of our own erasure"
        case .unknownAccount: "no account has this identity"
        case .unknownType: "a type that nobody documented"
        case .deviceOnly: "only the device is concerned"
        case .noted: "nothing to do"
        case .notConfirmed: "Apple says that the grant lives"
        case .notConfirmable: "Apple gave no clear answer, none for a day, or had been asked already"
        case .nothingHeld: "no credential by which Apple could be asked"
        case .forwarding: "forwarding of a relay address was switched"
        case .notTracked: "the event names no address"
        }
    }
}
