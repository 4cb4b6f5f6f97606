import Terminal

/// The output of `deletion request`, which has the same facts for one account or many, for a dry run or the real one.
enum DeletionRequestSheet {
    /// The facts in the order of the columns; the raw value is the name in the output.
    enum Fact: String, CaseIterable {
        case outcome, request
        case userID = "user_id"
        case ids, repeated
        case doneBefore = "done_before"
        case cancelled, accounts, requested, found, erased
        case unknownUser = "unknown_user"
        case failed, held, confirm
        case resultFile = "result_file"

        fileprivate var label: String {
            switch self {
            case .outcome: "Outcome"
            case .request: "Request"
            case .userID: "User id"
            case .ids: "Ids"
            case .repeated: "Lines that repeat one"
            case .doneBefore: "Done before"
            case .cancelled: "Cancelled since"
            case .accounts: "Accounts"
            case .requested: "Requested"
            case .found: "Requested already"
            case .erased: "Erased before"
            case .unknownUser: "No account"
            case .failed: "Failed"
            case .held: "Under legal hold"
            case .confirm: "To be confirmed by"
            case .resultFile: "Results"
            }
        }
    }

    /// Makes the sheet; a fact without a value does not apply.
    static func of(_ values: [Fact: OutputValue]) -> Sheet {
        Sheet(facts: Fact.allCases.map { .init($0.rawValue, $0.label, values[$0] ?? .null) })
    }
}
