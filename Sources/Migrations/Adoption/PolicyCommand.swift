/// The command that a row-level policy rules, as `pg_policy.polcmd` has it.
enum PolicyCommand: String, Codable, Sendable {
    case select = "r"
    case insert = "a"
    case update = "w"
    case delete = "d"
    case all = "*"

    /// The word in SQL.
    var word: String {
        switch self {
        case .select: "select"
        case .insert: "insert"
        case .update: "update"
        case .delete: "delete"
        case .all: "all"
        }
    }
}
