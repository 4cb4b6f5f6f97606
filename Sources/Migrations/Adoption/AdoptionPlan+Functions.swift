extension AdoptionPlan {
    /// The functions that apps call, in the order in which they are listed, then the one that receives Apple's
    /// notifications.
    static let functionNames = [
        "request_account_deletion",
        "cancel_account_deletion",
        "account_deletion_status",
        "submit_apple_authorization_code",
        "report_apple_credential_state", "receive_apple_notification",
    ]

    /// Refuses if one of the names is taken: a second function of the same name would be an overload, which PostgREST
    /// cannot distinguish.
    static func functions(_ facts: AdoptionFacts) -> [Item] {
        guard !facts.isFounded else { return [] }
        return functionNames.map { name in
            let taken = facts.takenFunctions[name]
            return Item(
                name: "rpc.\(name)",
                migration: 1,
                object: "function public.\(name)",
                decision: taken.map { .refuse("\($0.joined(separator: ", ")) exists already: rename or drop it") }
                    ?? .create,
                locks: []
            )
        }
    }
}
