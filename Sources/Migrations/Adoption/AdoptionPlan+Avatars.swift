extension AdoptionPlan {
    /// Migration 0011: the bucket `avatars` and its policies on `storage.objects`.
    static func avatars(_ facts: AdoptionFacts, visibility: ProfilesVisibility?) -> [Item] {
        let relation = "storage.objects"
        let lock = [TableLock(.accessExclusive, on: relation)]
        func item(_ name: String, _ object: String, _ decision: AdoptionDecision, _ locks: [TableLock] = []) -> Item {
            Item(name: "avatars.\(name)", migration: 11, object: object, decision: decision, locks: locks)
        }
        /// The decision to create a policy of this name; a refusal if this role may not create it.
        func ruling(_ decision: AdoptionDecision, _ policy: String) -> AdoptionDecision {
            facts.mayRuleObjects
                ? decision.refused(
                    where: facts.objectPolicies.haveOne(named: policy),
                    for: "policy \(policy) on \(relation)"
                )
                : .refuse(
                    "this role may not create policies on \(relation): migrate as the platform's role postgres, or without profiles"
                )
        }
        func published(_ command: PolicyCommand) -> AdoptionFacts.Policy? {
            PublishedStarter.avatarsPolicy(command, among: facts.objectPolicies)
        }

        let isStarters = published(.insert) != nil || published(.update) != nil
        let ours: [(command: PolicyCommand, policy: String)] = [
            (.select, "avatars_select"), (.insert, "avatars_insert_own"), (.update, "avatars_update_own"),
            (.delete, "avatars_delete_own"),
        ]

        var items = [
            item(
                "bucket",
                "bucket avatars",
                facts.hasBucket ? .keep("it is there already; its settings and files stay") : .create
            )
        ]
        for (command, policy) in ours {
            let name = "policy.\(command.word)"
            if let found = published(command) {
                let object = "policy \(found.quotedName) on \(relation)"
                if command == .select, visibility != .own {
                    items.append(
                        item(name, object, .keep("who can read stays as it is; visibility = own narrows it"))
                    )
                    if PublishedStarter.hidesFromDeletes(found) {
                        let own = "policy \(policy) on \(relation)"
                        items.append(item("policy.select_own", own, ruling(.create, policy), lock))
                    }
                } else {
                    items.append(item(name, object, ruling(.replace, policy), lock))
                }
            } else if !facts.hasBucket || (isStarters && command == .delete) {
                items.append(item(name, "policy \(policy) on \(relation)", ruling(.create, policy), lock))
            } else {
                items.append(
                    item(
                        name,
                        "policies on \(relation)",
                        .keep("no policy for this is a published starter's by its text; the app's own rules stay")
                    )
                )
            }
        }
        return items
            + [PolicyCommand.insert, .update].map {
                let policy = "avatars_\($0.word)_open"
                return item("lockout.\($0.word)", "policy \(policy) on \(relation)", ruling(.create, policy), lock)
            }
    }
}
