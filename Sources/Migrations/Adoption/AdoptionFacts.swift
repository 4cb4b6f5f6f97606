/// The state of a database with regard to the objects that the migrations create: catalog rows without decisions.
package struct AdoptionFacts: Sendable, Equatable, Codable {
    /// A row-level policy.
    struct Policy: Sendable, Equatable, Codable {
        /// The properties that identify a published policy.
        struct Rule: Sendable, Hashable, Codable {
            /// The name, unquoted.
            let name: String
            var using: String?
            var check: String?
        }

        let rule: Rule
        /// The name, quoted if necessary.
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
        /// The delete rule is NO ACTION or RESTRICT, so the account cannot be deleted while the row exists.
        let blocks: Bool
    }

    /// The relation `public.profiles`.
    struct Profiles: Sendable, Equatable, Codable {
        /// Whether it is an ordinary or partitioned table.
        let isTable: Bool
        let isPartitioned: Bool
        let owner: String
        /// Whether this role has the owner's rights.
        let isOurs: Bool
        let rowSecurity: Bool
        let columns: [Column]
        let primaryKey: [String]
        /// The foreign key of `id`; a blocking one takes precedence.
        let userKey: Key?
        /// Whether any foreign key refers to `auth.users`.
        let isTied: Bool
        let usernameIsUnique: Bool
        let usernameHasRule: Bool
        /// Those of `select`, `insert` and `update` that signed-in users lack on the whole table; column privileges do
        /// not count.
        let withheld: [String]
        let policies: [Policy]
    }

    /// The function `public.handle_new_user()`.
    struct SignUpFunction: Sendable, Equatable, Codable {
        /// SHA-256 of the body, with white space collapsed.
        let digest: String
        /// Whether it is a trigger function with its owner's rights, and this role has the owner's rights.
        let isReplaceable: Bool
        /// The first trigger that fires it at sign-up, quoted.
        let trigger: String?
    }

    /// Functions in `public` that have names of ours, with their arguments.
    let takenFunctions: [String: [String]]
    let profiles: Profiles?
    /// Relations and types, with their schema, whose names a new profiles table would need.
    let takenRelations: [String]
    let objectPolicies: [Policy]
    /// Whether this role may create policies on `storage.objects`, as its owner or by the platform's extension, or the
    /// table does not exist.
    let mayRuleObjects: Bool
    let signUpFunction: SignUpFunction?
    /// The first row-level trigger after an insert into `auth.users`, quoted.
    let signUpTrigger: String?
    /// Whether the bucket `avatars` exists.
    var hasBucket: Bool
    /// Whether migration 0001 has run, so that functions with our names are ours.
    var isFounded: Bool
    /// The origin that migration 0010 recorded, if it has run.
    var origin: String?
}

extension [AdoptionFacts.Policy] {
    /// Whether one of the policies has this name.
    func haveOne(named name: String) -> Bool { contains { $0.rule.name == name } }
}
