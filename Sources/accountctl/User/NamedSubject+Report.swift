import AccountLifecycle

extension NamedSubject: ReportableError {
    var report: CommandError {
        let what =
            switch kind {
            case .userID: "the id of the account"
            case .email: "an e-mail address of the account"
            case .phone: "a phone number of the account"
            case .providerID: "an id that the account has at a provider"
            }
        let text =
            switch words {
            case .reason, .ticket: "--\(words.rawValue)"
            case .name: "the operator's name (--as, ACCOUNTCTL_OPERATOR)"
            }
        return CommandError(
            .usage,
            "\(text) contains \(what): \(OptionText.logRule)"
        )
    }
}
