import AccountLifecycle
import JobQueue
import Migrations
import Postgres
import Sealing
import Settings
import Terminal

/// Looks at the database.
struct DatabaseDoctor {
    let settings: Settings
    let engine: MigrationEngine

    func findings(on connection: isolated Connection) async throws -> [Finding] {
        var findings = try server(on: connection)
        findings += try role(on: connection)
        let (schema, isInstalled) = try schema(on: connection)
        findings += schema
        findings += try deletionPlan(on: connection)
        guard isInstalled else { return findings }
        findings += try jobs(on: connection)
        findings += try requests(on: connection)
        return findings
    }

    private func server(on connection: isolated Connection) throws -> [Finding] {
        let version = connection.serverVersion
        let (name, isStandby, skew, pid) = try connection.one(
            """
            select current_setting('server_version'), pg_is_in_recovery(),
                   extract(epoch from clock_timestamp())::double precision, pg_backend_pid()
            """,
            as: (String, Bool, Double, Int).self
        )
        var findings: [Finding] = []
        if (150_000..<180_000).contains(version) {
            findings.append(.ok("database.version", "PostgreSQL \(name)"))
        } else {
            findings.append(
                Finding(
                    .warning,
                    "database.version",
                    "PostgreSQL \(name)",
                    why: "This version is made and tested for PostgreSQL 15 to 17.",
                    todo: "Use one of these."
                )
            )
        }
        if isStandby {
            findings.append(
                Finding(
                    .error,
                    "database.standby",
                    "this server is a standby",
                    why: "It takes no writes: nothing can be migrated or erased.",
                    todo: "Name the primary, or several hosts with target_session_attrs=read-write."
                )
            )
        }
        if pid != Int(connection.backendPID) {
            findings.append(
                Finding(
                    .notice,
                    "database.pooler",
                    "a pooler lies between here and the server",
                    why: "In transaction mode workers hear no notifications and migrations are refused.",
                    todo: "On Supabase use port 5432 (session mode) for workers and migrations."
                )
            )
        } else {
            findings.append(.ok("database.pooler", "a direct connection"))
        }
        let difference = abs(skew - Clock.secondsSince1970)
        if difference > 5 {
            findings.append(
                Finding(
                    .warning,
                    "database.clock",
                    "the clocks of this machine and the server differ by \(Int(difference)) s",
                    why: "Apple refuses client secrets whose times are wrong.",
                    todo: "Set the clock of this machine by NTP."
                )
            )
        } else {
            findings.append(.ok("database.clock", "the clocks agree"))
        }
        return findings
    }

    private func role(on connection: isolated Connection) throws -> [Finding] {
        let (name, isSuperuser, bypasses) = try connection.one(
            "select rolname::text, rolsuper, rolbypassrls from pg_roles where rolname = current_user",
            as: (String, Bool, Bool).self
        )
        var findings: [Finding] = []
        if isSuperuser || bypasses {
            findings.append(.ok("database.role", "\(name) is not bound by row-level security"))
        } else {
            findings.append(
                Finding(
                    .error,
                    "database.role",
                    "row-level security binds the role \(name)",
                    why: "It would find no account and call that clean.",
                    todo: "Connect as postgres, or as a role with BYPASSRLS."
                )
            )
        }
        if isSuperuser {
            findings.append(
                Finding(
                    .notice,
                    "database.superuser",
                    "\(name) is a superuser",
                    why: "Much more than is needed.",
                    todo: "Use the role postgres of Supabase, or one with its rights."
                )
            )
        }
        let unreadable = try connection.query(
            """
            select c.oid::regclass::text
            from pg_class as c
            join pg_namespace as n on n.oid = c.relnamespace
            where n.nspname in ('auth', 'storage')
              and c.relname in (
                  'users', 'identities', 'sessions', 'refresh_tokens', 'flow_state', 'audit_log_entries', 'objects', 'buckets'
              )
              and c.relkind in ('r', 'p')
              and not has_table_privilege(c.oid, 'select')
            order by 1
            """,
            as: String.self
        )
        if !unreadable.isEmpty {
            findings.append(
                Finding(
                    .error,
                    "database.rights",
                    "\(name) may not read \(Wording.list(unreadable))",
                    why: "What cannot be read cannot be erased or verified.",
                    todo: "Connect as postgres, or grant SELECT and DELETE."
                )
            )
        }
        return findings
    }

    private func schema(on connection: isolated Connection) throws -> ([Finding], isInstalled: Bool) {
        let plan = try engine.plan(on: connection)
        guard plan.items.contains(where: { $0.applied != nil }) else {
            return (
                [
                    Finding(
                        .error,
                        "schema.installed",
                        "the schema is not installed",
                        why: "There is nowhere to keep requests and jobs.",
                        todo: "accountctl migrate up"
                    )
                ], false
            )
        }
        var findings: [Finding] = []
        for conflict in plan.conflicts {
            findings.append(
                Finding(
                    .error,
                    "schema.history",
                    "migration \(conflict.number) \(conflict.name) is \(conflict.state.rawValue)",
                    why: "The database was made by another version than this one.",
                    todo: "Use the version that made it (\(conflict.applied?.version ?? "unknown")), or a later one."
                )
            )
        }
        if !plan.pending.isEmpty {
            findings.append(
                Finding(
                    .warning,
                    "schema.pending",
                    Wording.count(plan.pending.count, "migration") + " to be applied",
                    why: "This version expects them.",
                    todo: "accountctl migrate up"
                )
            )
        }
        let differences = try CatalogSnapshot.differences(on: connection)
        for difference in differences.prefix(20) {
            findings.append(
                Finding(
                    .warning,
                    "schema.drift",
                    "\(difference.kind.rawValue): \(difference.object)",
                    why: "Somebody changed what the migrations made; a policy or a right may be gone.",
                    todo: "accountctl migrate verify --json shows both sides; --accept keeps the change."
                )
            )
        }
        if findings.isEmpty { findings.append(.ok("schema", "up to date, and as the migrations made it")) }
        let isCurrent = try connection.one(
            "select to_regclass('accountctl.deletion_requests') is not null",
            as: Bool.self
        )
        return (findings, isCurrent)
    }

    /// What would stop or slow the deletion of any account, by the catalog.
    private func deletionPlan(on connection: isolated Connection) throws -> [Finding] {
        let plan = DeletionPlan(try DeletionCatalog.read(on: connection))
        var findings: [Finding] = []
        for key in plan.refusing {
            findings.append(
                Finding(
                    .warning,
                    "deletion.blocking_key",
                    "\(key.table) refers to \(key.target) by \(key.name) without ON DELETE CASCADE or SET NULL",
                    why: "An account that has rows there cannot be deleted.",
                    todo: "Decide what happens to these rows: give the key a delete rule, or delete them first."
                )
            )
        }
        for key in plan.unindexed where key.table.schema != "accountctl" {
            findings.append(
                Finding(
                    key.estimatedRows > 10_000 ? .warning : .notice,
                    "deletion.missing_index",
                    "no index begins with \(key.columns.joined(separator: ", ")) of \(key.table)",
                    why: "Each deletion reads the whole table (about \(key.estimatedRows) rows).",
                    todo: key.table.schema == "auth"
                        ? "Supabase owns the table; nothing to do." : "create index concurrently on \(key.table) (…)"
                )
            )
        }
        for trigger in plan.triggers where trigger.table.schema != "storage" {
            findings.append(
                Finding(
                    .notice,
                    "deletion.trigger",
                    "the trigger \(trigger.name) runs when rows of \(trigger.table) are deleted",
                    why: "If it raises an error, the account cannot be deleted.",
                    todo: "Make sure that it lets a delete pass; accountctl deletion plan tries one."
                )
            )
        }
        for fault in plan.faults {
            findings.append(
                Finding(
                    .error,
                    "deletion.rights",
                    "\(fault.table): \(fault.code.rawValue)" + (fault.detail.map { " (\($0))" } ?? ""),
                    why: "Rows there could not be deleted, or not be seen.",
                    todo: "Grant the right, or connect as a role that has it."
                )
            )
        }
        if findings.isEmpty { findings.append(.ok("deletion.plan", "nothing in the catalog stops a deletion")) }
        return findings
    }

    private func jobs(on connection: isolated Connection) throws -> [Finding] {
        var findings: [Finding] = []
        let (alive, lastBeat) = try connection.one(
            """
            select count(*) filter (where status in ('alive', 'stopping')), min(seconds_since_beat)
            from accountctl.worker_status
            """,
            as: (Int, Double?).self
        )
        if alive > 0 {
            findings.append(.ok("workers.alive", Wording.count(alive, "worker") + " alive"))
        } else {
            let last =
                lastBeat.map { "the last one was seen \(Wording.length(.seconds(Int($0)))) ago" }
                ?? "none was ever seen"
            findings.append(
                Finding(
                    lastBeat.map { $0 < 86_400 } == true ? .warning : .error,
                    "workers.alive",
                    "no worker is alive; \(last)",
                    why: "Requests wait, and Apple's codes expire after five minutes.",
                    todo: "Start one: accountctl worker; with cron this is the state between two runs."
                )
            )
        }
        let figures = try JobQueue().figures(on: connection)
        for (queue, seconds) in figures.oldestReady.sorted(by: { $0.key < $1.key }) where seconds > 300 {
            findings.append(
                Finding(
                    .warning,
                    "jobs.age",
                    "a job of the queue \(queue) could run for \(Wording.length(.seconds(Int(seconds))))",
                    why: "Work comes in faster than it is done, or nobody does it.",
                    todo: "Start more workers, or see what they do: accountctl jobs list"
                )
            )
        }
        if figures.exhausted > 0 {
            findings.append(
                Finding(
                    .error,
                    "jobs.exhausted",
                    Wording.count(figures.exhausted, "job") + " failed through all usual attempts",
                    why: "They are tried once a day only, and somebody waits for them.",
                    todo: "accountctl jobs list names them and their last errors."
                )
            )
        }
        if figures.defaultRows > 0 {
            findings.append(
                Finding(
                    .warning,
                    "jobs.partitions",
                    "\(figures.defaultRows) rows of the job history have no day's partition",
                    why: "Partitions were not made ahead: no worker ran, or it may not create tables.",
                    todo: "Let a worker run; it makes them and moves the rows."
                )
            )
        }
        return findings
    }

    private func requests(on connection: isolated Connection) throws -> [Finding] {
        var findings: [Finding] = []
        let rows = try connection.query(
            """
            select state, count(*), min(legal_deadline - now()) < interval '5 days',
                   extract(epoch from min(legal_deadline - now()))::bigint
            from accountctl.deletion_requests
            where finished_at is null
            group by state
            order by state
            """,
            as: (String, Int, Bool, Int).self
        )
        for (state, count, isUrgent, seconds) in rows {
            if isUrgent {
                let left =
                    seconds < 0
                    ? "passed \(Wording.length(.seconds(-seconds))) ago" : "is in \(Wording.length(.seconds(seconds)))"
                findings.append(
                    Finding(
                        seconds < 0 ? .error : .warning,
                        "deletion.deadline",
                        "a request in the state \(state) whose legal deadline \(left)",
                        why: "An account must be erased within a calendar month of the request.",
                        todo: "accountctl deletion list shows it; deletion show says what ends its state."
                    )
                )
            }
            if state == "residue" || state == "blocked" {
                findings.append(
                    Finding(
                        .error,
                        "deletion.\(state)",
                        Wording.count(count, "request") + " in the state \(state)",
                        why: "They do not go on by themselves.",
                        todo: "accountctl deletion list --state \(state); deletion show says what ends it."
                    )
                )
            }
        }
        findings += try keys(on: connection)
        return findings
    }

    /// Keys that open rows were sealed with.
    private func keys(on connection: isolated Connection) throws -> [Finding] {
        let needed = try connection.query(
            """
            select distinct sealing_key_id from accountctl.deletion_requests where sealing_key_id is not null
            union
            select distinct sealing_key_id from accountctl.apple_credentials
            union
            select distinct sealing_key_id from accountctl.pending_revocations where sealing_key_id is not null
            order by 1
            """,
            as: String.self
        )
        guard settings.keys.sealingKeyFile != nil else { return [] }
        let held: Set<String>
        do {
            held = Set(try WorkerServices.sealingKeys(settings).ids.map(\.description))
        } catch {
            return [Finding(.error, "keys.sealing", ErrorReport(error).message, why: "Nothing sealed can be opened.")]
        }
        let missing = needed.filter { !held.contains($0) }
        guard !missing.isEmpty else { return [.ok("keys.sealing", "every key that sealed something is there")] }
        return [
            Finding(
                .error,
                "keys.sealing",
                "sealed values need the keys \(Wording.list(missing)), which keys.sealing_file does not have",
                why: "Their requests cannot be verified, and their grants at Apple not revoked.",
                todo: "Put the keys back from where they are kept."
            )
        ]
    }
}
