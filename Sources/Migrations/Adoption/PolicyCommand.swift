/// The command that a row-level policy applies to, as in `pg_policy.polcmd`.
enum PolicyCommand: String, Codable, Sendable {
    case select = "r"
    case insert = "a"
    case update = "w"
    case delete = "d"
    case all = "*"

    /// The SQL keyword.
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
