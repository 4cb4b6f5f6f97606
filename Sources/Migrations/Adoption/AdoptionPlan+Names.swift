extension AdoptionPlan {
    /// Migration 0015: the function and trigger that fill profiles from the account.
    static func names(_ facts: AdoptionFacts, origin: ProfilesOrigin) -> [Item] {
        func item(_ name: String, _ object: String, _ decision: AdoptionDecision, _ locks: [TableLock] = []) -> Item {
            Item(name: "profiles.\(name)", migration: 15, object: object, decision: decision, locks: locks)
        }

        let trigger = [TableLock(.shareRowExclusive, on: "auth.users")]
        let nameTrigger = "trigger accountctl_profile_name on auth.users"
        let name: Item
        if case .own = origin {
            name = item("name", nameTrigger, .leaveOff("a table of the app's own"))
        } else {
            name = item("name", nameTrigger, .create, trigger)
        }
        return [signUp(facts, origin: origin, item: { item("sign_up", $0, $1, $2) }, lock: trigger), name]
    }

    private static func signUp(
        _ facts: AdoptionFacts,
        origin: ProfilesOrigin,
        item: (String, AdoptionDecision, [TableLock]) -> Item,
        lock: [TableLock]
    ) -> Item {
        let object = "function public.handle_new_user()"
        let isOwn = if case .own = origin { true } else { false }
        if let function = facts.signUpFunction, !isOwn, function.isReplaceable, function.trigger != nil,
            function.digest == PublishedStarter.signUpDigest
        {
            return item(object, .replace, [])
        }
        if origin == .created, facts.signUpFunction == nil, facts.signUpTrigger == nil {
            return item(object, .create, lock)
        }
        if let other = facts.signUpTrigger {
            let reason = """
                it fires at sign-up and is not a published starter's by its text; a second one is not added, so it or the app \
                has to make the profile
                """
            return item("trigger \(other) on auth.users", .keep(reason), [])
        }
        return item(
            object,
            .leaveOff(
                origin == .created
                    ? "a function of that name is there and is not fired at sign-up"
                    : "the table was there without a sign-up trigger: the app makes its rows itself"
            ),
            []
        )
    }
}
