import AccountLifecycle
import Migrations
import Postgres
import Terminal

extension DatabaseDoctor {
    /// Checks that the schema is installed, complete, and as its migrations made it.
    func schema(on connection: isolated Connection) async throws -> ([DoctorFinding], isInstalled: Bool) {
        let plan = try engine.plan(on: connection)
        guard plan.items.contains(where: { $0.applied != nil }) else { return ([Self.notInstalled], false) }
        var findings = Self.ahead(plan) + Self.history(plan) + Self.pending(plan)
        // Objects that an unfinished run has made are not drift: the run records them at its end.
        let isUnfinished = try CatalogSnapshot.isUnfinished(on: connection)
        findings += try await isUnfinished ? [unfinished(on: connection)] : drift(on: connection)
        findings += try schemaOwners(on: connection) + openSchema(on: connection) + usernameRules(on: connection)
        if findings.isEmpty { findings.append(.ok("schema", "up to date, and unchanged since it was migrated")) }
        return (findings, try AccountLifecycle.isInstalled(on: connection))
    }

    private static let notInstalled = DoctorFinding(
        .error,
        "schema.installed",
        "the schema is not installed",
        why: "There is nowhere to keep requests and jobs.",
        todo: "accountctl migrate up"
    )

    /// Migrations that a newer version applied.
    private static func ahead(_ plan: MigrationPlan) -> [DoctorFinding] {
        let newer = plan.conflicts.filter { $0.state == .unknown }
        guard let newest = newer.last else { return [] }
        let version = newest.applied?.version ?? "unknown"
        return [
            DoctorFinding(
                .warning,
                "schema.ahead",
                Wording.count(newer.count, "migration") + " of a newer version (\(version))",
                why: "This version works with the schema of the next version, but not with later ones.",
                todo: "Install the newer version everywhere, here too."
            )
        ]
    }

    /// Migrations whose text or order conflicts with what was applied.
    private static func history(_ plan: MigrationPlan) -> [DoctorFinding] {
        plan.conflicts.filter { $0.state != .unknown }.compactMap(\.conflict).map { conflict in
            .unusable("schema.history", conflict, why: "Nothing can be migrated before this is settled.")
        }
    }

    /// Migrations of this version that are still to be applied.
    private static func pending(_ plan: MigrationPlan) -> [DoctorFinding] {
        guard !plan.pending.isEmpty else { return [] }
        return [
            DoctorFinding(
                .error,
                "schema.pending",
                Wording.count(plan.pending.count, "migration") + " to be applied",
                why: "No worker of this version starts before that.",
                todo: "accountctl migrate up"
            )
        ]
    }

    /// A migration run that has not ended; the migration lock tells whether it is still in progress.
    private func unfinished(on connection: isolated Connection) throws -> DoctorFinding {
        let holder = try MigrationLock.holder(on: connection)
        return DoctorFinding(
            holder == nil ? .error : .notice,
            "schema.unfinished",
            holder.map { "migrate up is still running (\($0))" } ?? "a run of migrate up did not finish",
            why: "Until a run has finished, its own changes cannot be told from other people's.",
            todo: holder.map { "Wait for its end. \($0.ending)" } ?? "Start it again: accountctl migrate up"
        )
    }

    /// Objects of the migrations that somebody has changed since.
    private func drift(on connection: isolated Connection) async throws -> [DoctorFinding] {
        let differences = try await CatalogSnapshot.differences(on: connection)
        // Grave differences are all shown, others only up to 20.
        let told = differences.filter(\.isGrave) + differences.filter { !$0.isGrave }.prefix(20)
        return told.sorted { $0.object < $1.object }.map(Self.finding)
    }

    private static func finding(_ difference: CatalogSnapshot.Difference) -> DoctorFinding {
        DoctorFinding(
            difference.isGrave ? .error : .warning,
            "schema.drift",
            "\(difference.kind.rawValue): \(difference.object)",
            why: difference.isGrave
                ? "A rule that the migrations created is missing or changed, or everybody was granted more; a backup "
                    + "of only some schemas does that."
                : "Somebody changed what the migrations created; a policy or a right may be missing.",
            todo: difference.isGrave
                ? "Restore it as accountctl migrate verify --json shows it under recorded; --accept keeps the change."
                : "accountctl migrate verify --json shows both sides; --accept keeps the change."
        )
    }

    /// Constraints on usernames that an earlier text of migration 0012 added to a table into which the app's own
    /// sign-up writes.
    private func usernameRules(on connection: isolated Connection) throws -> [DoctorFinding] {
        guard try connection.one("select to_regclass('accountctl.adoption_notes') is not null", as: Bool.self) else {
            return []
        }
        return try connection.query(
            """
            select k.conname::text
            from accountctl.adoption_notes as n
            join accountctl.adoption_notes as s on s.item = 'profiles.sign_up' and s.decision = 'kept'
            join accountctl.settings as o on o.name = 'profiles.origin' and o.value = '"starter"'
            join pg_constraint as k
                on k.conrelid = to_regclass('public.profiles')
                and (n.item, k.conname) in (
                    ('profiles.username_unique', 'profiles_username_key'), ('profiles.username_length', 'username_length')
                )
            where n.decision = 'created'
            order by 1
            """,
            as: String.self
        ).map { name in
            DoctorFinding(
                .warning,
                "schema.username_rule",
                "migrate up added the constraint \(name) to the app's profiles",
                why: "The app's own sign-up writes these rows: with a username that breaks the rule it fails.",
                todo: "Keep it if no sign-up can break it; else: alter table public.profiles drop constraint \(name)."
            )
        }
    }
}
