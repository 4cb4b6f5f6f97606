/// What a database has of the things that the migrations make: rows of its catalogs, nothing decided.
package struct AdoptionFacts: Sendable, Equatable, Codable {
    /// A row-level policy.
    struct Policy: Sendable, Equatable, Codable {
        /// What makes a policy a published one.
        struct Rule: Sendable, Hashable, Codable {
            /// The name, not quoted.
            let name: String
            var using: String?
            var check: String?
        }

        let rule: Rule
        /// The name, quoted where it has to be.
        let quotedName: String
        let command: PolicyCommand
        /// Permissive and without a TO clause.
        let isPublic: Bool
    }

    struct Column: Sendable, Equatable, Codable {
        let name: String
        let type: String
        let generated: Bool
    }

    /// A foreign key from `profiles.id` to `auth.users.id`.
    struct Key: Sendable, Equatable, Codable {
        let quotedName: String
        /// No delete rule, or RESTRICT: the account cannot be deleted while the row is there.
        let blocks: Bool
    }

    /// The relation `public.profiles`.
    struct Profiles: Sendable, Equatable, Codable {
        /// An ordinary or partitioned table.
        let isTable: Bool
        let isPartitioned: Bool
        let owner: String
        /// This role has its owner's rights.
        let isOurs: Bool
        let rowSecurity: Bool
        let columns: [Column]
        let primaryKey: [String]
        /// The key from `id`; one that blocks before one that does not.
        let userKey: Key?
        /// Any foreign key to `auth.users`.
        let isTied: Bool
        let usernameIsUnique: Bool
        let usernameHasRule: Bool
        /// What signed-in users may not do with all of the table, of `select`, `insert` and `update`; a right on single
        /// columns is none on all of it.
        let withheld: [String]
        let policies: [Policy]
    }

    /// The function `public.handle_new_user()`.
    struct SignUpFunction: Sendable, Equatable, Codable {
        /// SHA-256 of the body, white space collapsed.
        let digest: String
        /// A trigger function with its owner's rights, which this role has.
        let isReplaceable: Bool
        /// The first trigger that fires it at sign-up, quoted.
        let trigger: String?
    }

    /// Functions in `public` with names of ours, with their arguments.
    let takenFunctions: [String: [String]]
    let profiles: Profiles?
    /// Relations and types that a new table of profiles cannot be made beside, with their schema.
    let takenRelations: [String]
    let objectPolicies: [Policy]
    /// This role may create policies on `storage.objects`, by owning it or by the platform's extension; or there is no
    /// such table.
    let mayRuleObjects: Bool
    let signUpFunction: SignUpFunction?
    /// The first trigger that fires for each row after an insert into `auth.users`, quoted.
    let signUpTrigger: String?
    /// The bucket `avatars` is there.
    var hasBucket: Bool
    /// Migration 0001 has run, so that the functions are not somebody else's.
    var isFounded: Bool
    /// What migration 0010 found, where it has run.
    var origin: String?
}

extension [AdoptionFacts.Policy] {
    /// Whether one of them has this name.
    func haveOne(named name: String) -> Bool { contains { $0.rule.name == name } }
}
