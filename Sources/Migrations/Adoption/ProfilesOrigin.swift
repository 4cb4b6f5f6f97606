/// The origin of the table `public.profiles`.
enum ProfilesOrigin: Equatable {
    /// The migrations create it, or have created it.
    case created
    /// It comes from the User Management Starter.
    case starter
    /// It is the app's own; the text says how it differs from the starter's.
    case own(String)

    /// The starter's columns and their types; an adopted table may have more.
    static let columns: [(name: String, type: String)] = [
        ("id", "uuid"),
        ("updated_at", "timestamp with time zone"),
        ("username", "text"),
        ("full_name", "text"),
        ("avatar_url", "text"),
        ("website", "text"),
    ]

    init(facts: AdoptionFacts) {
        guard let table = facts.profiles, facts.origin != "created" else {
            self = .created
            return
        }
        let missing = Self.columns.filter { wanted in
            !table.columns.contains { $0.name == wanted.name && $0.type == wanted.type && !$0.generated }
        }
        if !table.isTable {
            self = .own("it is not a table")
        } else if !table.isOurs {
            self = .own("it belongs to \(table.owner)")
        } else if table.isPartitioned {
            self = .own("it is partitioned")
        } else if !missing.isEmpty {
            self = .own("it has no column " + missing.map { "\($0.name) \($0.type)" }.joined(separator: ", "))
        } else if table.primaryKey != ["id"] {
            self = .own("its primary key is not id")
        } else if table.userKey == nil {
            self = .own("its id is no key to auth.users")
        } else {
            self = .starter
        }
    }
}
