extension AdoptionPlan {
    private static let relation = "public.profiles"
    private static let table = "table public.profiles"

    /// Migration 0010: the table with its grants and policies.
    static func profiles(
        _ facts: AdoptionFacts,
        origin: ProfilesOrigin,
        visibility: ProfilesVisibility?
    ) -> [Item] {
        func item(_ name: String, _ object: String, _ decision: AdoptionDecision, _ locks: [TableLock] = []) -> Item {
            Item(name: "profiles.\(name)", migration: 10, object: object, decision: decision, locks: locks)
        }

        guard let existing = facts.profiles, origin != .created else {
            // Nobody can be using a new table, but its foreign key locks the referenced table.
            let key = [TableLock(.shareRowExclusive, on: "auth.users")]
            let taken = facts.profiles == nil ? facts.takenRelations : []
            let make = AdoptionDecision.create
                .refused(where: !taken.isEmpty, for: taken.joined(separator: ", "))
            return [
                item("table", table, make, key), item("privileges", table, .create),
                item("row_security", table, .create),
            ]
                + [
                    ("policy.select", "profiles_select"), ("policy.insert", "profiles_insert_own"),
                    ("policy.update", "profiles_update_own"), ("lockout.insert", "profiles_insert_open"),
                    ("lockout.update", "profiles_update_open"),
                ].map { item($0.0, "policy \($0.1) on \(relation)", .create) }
        }

        let tableDecision: AdoptionDecision
        let privileges: AdoptionDecision
        if case .own(let why) = origin {
            tableDecision = .keep("a table of the app's own: \(why)")
            privileges = .keep("a table of the app's own")
        } else {
            tableDecision = .keep("the starter's; rows and further columns stay")
            let withheld = existing.withheld.joined(separator: ", ")
            privileges =
                withheld.isEmpty
                ? .keep("the grants suffice")
                : .leaveOff("withheld from authenticated: \(withheld); grant what the app needs")
        }
        let rowSecurity =
            existing.rowSecurity ? "on already" : "off: switching it on would change who can read"
        return [
            item("table", table, tableDecision), item("privileges", table, privileges),
            item("row_security", table, .keep(rowSecurity)),
        ]
            + [PolicyCommand.select, .insert, .update].map {
                policy($0, existing, origin: origin, visibility: visibility)
            }
            + [PolicyCommand.insert, .update].map { lockout($0, existing, origin: origin) }
    }

    private static func policy(
        _ command: PolicyCommand,
        _ existing: AdoptionFacts.Profiles,
        origin: ProfilesOrigin,
        visibility: ProfilesVisibility?
    ) -> Item {
        func item(_ object: String, _ decision: AdoptionDecision, _ locks: [TableLock] = []) -> Item {
            Item(
                name: "profiles.policy.\(command.word)",
                migration: 10,
                object: object,
                decision: decision,
                locks: locks
            )
        }

        let all = "policies on \(relation)"
        guard origin == .starter else {
            return item(all, .keep("a table of the app's own"))
        }
        guard let found = PublishedStarter.profilesPolicy(command, among: existing.policies) else {
            return item(
                all,
                .keep(
                    existing.rowSecurity
                        ? "no policy for this is a published starter's by its text; the app's own rules stay"
                        : "row-level security is off"
                )
            )
        }
        let object = "policy \(found.quotedName) on \(relation)"
        if command == .select, visibility != .own {
            return item(object, .keep("who can read stays as it is; visibility = own narrows it"))
        }
        guard existing.rowSecurity else {
            return item(all, .keep("row-level security is off"))
        }
        let name = "profiles_\(command.word)" + (command == .select ? "" : "_own")
        return item(
            object,
            .replace.refused(where: existing.policies.haveOne(named: name), for: "policy \(name) on \(relation)"),
            [TableLock(.accessExclusive, on: relation)]
        )
    }

    /// The restrictive policies that require the account to be open.
    private static func lockout(
        _ command: PolicyCommand,
        _ existing: AdoptionFacts.Profiles,
        origin: ProfilesOrigin
    ) -> Item {
        let name = "profiles_\(command.word)_open"
        let object = "policy \(name) on \(relation)"
        let decision: AdoptionDecision
        if case .own(let why) = origin, !existing.isTable || !existing.isOurs {
            decision = .leaveOff(why)
        } else if !existing.rowSecurity {
            decision = .leaveOff("row-level security is off")
        } else if !existing.isTied {
            decision = .leaveOff("no key to auth.users: its writers need not be accounts")
        } else {
            decision = .create.refused(where: existing.policies.haveOne(named: name), for: object)
        }
        return Item(
            name: "profiles.lockout.\(command.word)",
            migration: 10,
            object: object,
            decision: decision,
            locks: decision == .create ? [TableLock(.accessExclusive, on: relation)] : []
        )
    }
}
