import Migrations
import TestSupport
import Testing

/// The adoption plan says what the migrations then do and which locks they take, and nothing existing is lost.
///
/// Every row and column, every policy of the app's own and every right to read is still there afterwards.
@Suite(.timeLimit(.minutes(5))) struct AdoptionPlanTests {
    /// Read once, since a debug build takes long to tell the statements of eighty files apart.
    private static let embedded: Result<MigrationSet, any Error> = Result { try MigrationSet.embedded() }

    @Test(arguments: AdoptionScenario.all) func planIsWhatHappens(_ scenario: AdoptionScenario) async throws {
        try await AdoptionDatabase.with(scenario) { adoption in
            let plan = try await adoption.plan()
            #expect(plan.refusals.isEmpty)
            let before = try await adoption.snapshot()
            let held = try await adoption.migrate()
            let after = try await adoption.snapshot()
            before.expectNothingLost(in: after, narrowed: scenario.visibility == .own)

            let notes = try await adoption.notes()

            let planned = plan.items.filter { $0.migration >= 10 }
            #expect(Set(planned.map(\.name)) == Set(notes.map(\.item)))
            for item in planned {
                let note = try #require(notes.first { $0.item == item.name })
                #expect(item.decision.outcome == note.decision, "\(item.name): \(item.decision), \(note)")
                #expect(item.object == note.object, "\(item.name)")
                #expect(item.decision.reason == note.reason, "\(item.name)")
            }

            let migrations = try Self.embedded.get().migrations
            for (number, locks) in held where number >= 10 && number != 14 {
                let items = planned.filter { $0.migration == number }
                let migration = try #require(migrations.first { $0.number == number })
                // For a migration that adopts nothing, the locks are read off its text.
                let told = items.isEmpty ? migration.locks : items.flatMap(\.locks)
                for (table, mode) in locks {
                    let strongest = told.filter { $0.table == table }.map(\.mode).max()
                    #expect(strongest == mode, "\(number) locks \(table)")
                }
                for lock in told {
                    #expect(locks[lock.table] != nil, "\(number) was to lock \(lock.table)")
                }
            }
            // Validating a constraint takes a lock that lets writers continue.
            #expect(held[14, default: [:]].values.allSatisfy { $0 == .shareUpdateExclusive })
        }
    }

    @Test func aTakenNameIsARefusal() async throws {
        try await AdoptionDatabase.with(
            AdoptionScenario(name: "taken", fixtures: ["taken_functions"])
        ) { adoption in
            let plan = try await adoption.plan()
            #expect(
                plan.refusals.map(\.name) == ["rpc.request_account_deletion", "rpc.account_deletion_status"]
            )
            let refusal = try #require(plan.refusals.first)
            #expect(
                refusal.decision
                    == .refuse("public.request_account_deletion(user_id uuid) exists already: rename or drop it")
            )
            await #expect(throws: TestSupportError.self) { try await adoption.migrate() }
            // Nothing was changed.
            #expect(try await adoption.lines("select 1 from pg_namespace where nspname = 'accountctl'").isEmpty)
            #expect(
                try await adoption.lines("select from pg_proc where proname = 'request_account_deletion'").count <= 1
            )
        }
    }

    @Test(
        arguments: [
            (
                "create policy avatars_delete_own on storage.objects for delete using (false)", "avatars.policy.delete",
                "policy avatars_delete_own on storage.objects exists already: rename or drop it"
            ),
            (
                "create policy avatars_update_own on storage.objects for delete using (false)", "avatars.policy.update",
                "policy avatars_update_own on storage.objects exists already: rename or drop it"
            ),
            (
                "create policy profiles_update_open on public.profiles using (true)", "profiles.lockout.update",
                "policy profiles_update_open on public.profiles exists already: rename or drop it"
            ),
            (
                "create policy profiles_insert_own on public.profiles using (true)", "profiles.policy.insert",
                "policy profiles_insert_own on public.profiles exists already: rename or drop it"
            ),
            (
                "alter table public.profiles rename to former_profiles", "profiles.table",
                "public.profiles_pkey, public.profiles_username_key exists already: rename or drop it"
            ),
        ]
    )
    func aNameThatAMigrationWantsIsARefusal(_ sql: String, _ item: String, _ reason: String) async throws {
        try await AdoptionDatabase.with(
            AdoptionScenario(name: sql, fixtures: ["starter_documentation"], sql: sql)
        ) { adoption in
            let refusals = try await adoption.plan().refusals
            #expect(refusals.map(\.name) == [item])
            #expect(refusals.first?.decision == .refuse(reason))
        }
    }

    @Test func installedFunctionsAreNoRefusal() async throws {
        try await AdoptionDatabase.with(AdoptionScenario(name: "installed")) { adoption in
            try await adoption.migrate()
            let plan = try await adoption.plan()
            #expect(!plan.refusals.contains { $0.name.hasPrefix("rpc.") })
        }
    }

    @Test func whoMayNotRuleObjectsIsRefusedBeforeAnything() async throws {
        try await TestDatabase.with(.platform) { database in
            let adoption = AdoptionDatabase(database: database, scenario: AdoptionScenario(name: "no right"))
            let refused = try await adoption.plan().refusals
            #expect(refused.count == 6 && refused.allSatisfy { $0.migration == 11 })
            // This is how the platform's extension is configured.
            func grant(to role: String) async throws {
                try await database.psql(
                    """
                    alter database \(database.name)
                        set supautils.policy_grants = '{"\(role)": ["auth.users", "storage.objects"]}'
                    """
                )
            }
            try await grant(to: "somebody")
            #expect(try await adoption.plan().refusals.count == 6)
            try await grant(to: "postgres")
            #expect(try await adoption.plan().refusals.isEmpty)
        }
    }

    @Test func anEmptyDatabaseCanBePlanned() async throws {
        try await TestDatabase.with(.empty) { database in
            let adoption = AdoptionDatabase(database: database, scenario: AdoptionScenario(name: "empty"))
            let plan = try await adoption.plan()
            #expect(plan.refusals.isEmpty)
        }
    }
}
