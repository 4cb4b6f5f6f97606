extension AdoptionPlan {
    /// Migration 0012: the constraints on usernames.
    static func usernames(_ facts: AdoptionFacts, origin: ProfilesOrigin) -> [Item] {
        func item(_ name: String, _ isThere: Bool?, _ kept: String) -> Item {
            let decision: AdoptionDecision =
                switch origin {
                case .created: .create
                case .own: .leaveOff("a table of the app's own")
                case .starter where isThere == true: .keep(kept)
                case .starter:
                    .leaveOff("the starter's rule is not there, and what writes usernames may rest on that")
                }
            return Item(
                name: "profiles.username_\(name)",
                migration: 12,
                object: "constraint on public.profiles",
                decision: decision,
                locks: []
            )
        }

        return [
            item("unique", facts.profiles?.usernameIsUnique, "usernames are unique already"),
            item("length", facts.profiles?.usernameHasRule, "usernames have a rule already"),
        ]
    }

    /// Migrations 0013 and 0014: the foreign key from profiles to accounts, which must not block a deletion.
    static func userKey(_ facts: AdoptionFacts, origin: ProfilesOrigin) -> [Item] {
        func item(_ object: String, _ decision: AdoptionDecision, _ locks: [TableLock] = []) -> Item {
            Item(name: "profiles.user_key", migration: 13, object: object, decision: decision, locks: locks)
        }

        guard origin == .starter, let key = facts.profiles?.userKey else {
            return origin == .created
                ? [item("constraint profiles_id_fkey on public.profiles", .create)]
                : [
                    item(
                        "keys of public.profiles",
                        .keep("a table of the app's own; a deletion plans by whatever keys it has")
                    )
                ]
        }
        let object = "constraint \(key.quotedName) on public.profiles"
        guard key.blocks else {
            return [item(object, .keep("it does not block the deletion of an account"))]
        }
        return [
            item(
                object,
                .replace,
                [TableLock(.accessExclusive, on: "public.profiles"), TableLock(.accessExclusive, on: "auth.users")]
            )
        ]
    }
}
