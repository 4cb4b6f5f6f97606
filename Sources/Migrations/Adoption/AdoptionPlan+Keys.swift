extension AdoptionPlan {
    /// Migrations 0012 and 0014: the rules on usernames.
    static func usernames(_ facts: AdoptionFacts, origin: ProfilesOrigin) -> [Item] {
        let relation = "public.profiles"
        func item(_ name: String, _ decision: AdoptionDecision, _ locks: [TableLock] = []) -> Item {
            Item(
                name: "profiles.username_\(name)",
                migration: 12,
                object: "constraint on \(relation)",
                decision: decision,
                locks: locks
            )
        }

        switch origin {
        case .created:
            return [item("unique", .create), item("length", .create)]
        case .own:
            return [
                item("unique", .leaveOff("a table of the app's own")),
                item("length", .leaveOff("a table of the app's own")),
            ]
        case .starter:
            return [
                facts.profiles?.usernameIsUnique == true
                    ? item("unique", .keep("usernames are unique already"))
                    : item(
                        "unique",
                        .createUnless("left off where present rows have a username more than once"),
                        // While the index is built, then for the moment in which it becomes the constraint's.
                        [TableLock(.share, on: relation), TableLock(.accessExclusive, on: relation)]
                    ),
                facts.profiles?.usernameHasRule == true
                    ? item("length", .keep("usernames have a rule already"))
                    : item(
                        "length",
                        .createUnless("left off where present rows have a username shorter than three characters"),
                        [TableLock(.accessExclusive, on: relation)]
                    ),
            ]
        }
    }

    /// Migrations 0013 and 0014: the key from profiles to accounts, which must not block a deletion.
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
