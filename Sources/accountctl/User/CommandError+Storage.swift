import AccountLifecycle

extension CommandError {
    /// The error for a failed use of Storage; its exit status asks for a retry only if a retry may help.
    static func storage(_ situation: Situation, hint: String? = nil) -> CommandError {
        let (status, what): (ExitStatus, String) =
            switch situation.fault {
            case .key:
                (.notAuthorised, "Compare storage.service_key_file and storage.url with the project's API settings")
            case .settings: (.usage, "Correct storage.url and what else is set in [storage]")
            case nil: (.temporary, "Try again")
            }
        return CommandError(
            status,
            "Storage: \(situation.detail ?? situation.code.rawValue)",
            hint: "\(what); accountctl doctor says more." + (hint.map { " " + $0 } ?? "")
        )
    }
}
