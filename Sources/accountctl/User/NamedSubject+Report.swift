import AccountLifecycle

extension NamedSubject: ReportableError {
    var report: ErrorReport {
        let what =
            switch kind {
            case .userID: "the id of the account"
            case .email: "an e-mail address of the account"
            case .phone: "a phone number of the account"
            case .providerID: "an id that the account has at a provider"
            }
        return ErrorReport(
            .usage,
            "--\(words.rawValue) holds \(what): \(OptionText.logRule)"
        )
    }
}
