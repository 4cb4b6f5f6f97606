import AccountLifecycle
import Postgres

extension DatabaseDoctor {
    /// What would stop or slow the deletion of any account, by the catalog.
    func deletionPlan(on connection: isolated Connection) throws -> [DoctorFinding] {
        let plan = DeletionPlan(try DeletionCatalog.read(on: connection))
        var findings: [DoctorFinding] = []
        for key in plan.refusing {
            findings.append(
                DoctorFinding(
                    .warning,
                    "deletion.blocking_key",
                    "\(key.table) refers to \(key.target) by \(key.name) without ON DELETE CASCADE or SET NULL",
                    why: "An account that has rows there cannot be deleted.",
                    todo: "Decide what happens to these rows: give the key a delete rule, or delete them first."
                )
            )
        }
        for key in plan.unindexed where key.table.schema != "accountctl" {
            let columns = key.columns.joined(separator: ", ")
            // Nobody but its owner may add an index: a warning that cannot be heeded would only hide the others.
            let isSupabases = ["auth", "storage"].contains(key.table.schema)
            findings.append(
                DoctorFinding(
                    key.estimatedRows > 10_000 && !isSupabases ? .warning : .notice,
                    "deletion.missing_index",
                    "no index begins with \(columns) of \(key.table)",
                    why: "Each deletion reads the whole table (about \(key.estimatedRows) rows).",
                    todo: isSupabases
                        ? "Supabase owns the table; nothing to do."
                        : Self.index(for: key)
                )
            )
        }
        for trigger in plan.triggers where trigger.table.schema != "storage" {
            findings.append(
                DoctorFinding(
                    .notice,
                    "deletion.trigger",
                    "the trigger \(trigger.name) of \(trigger.table) runs when an account is deleted",
                    why: "If it raises an error, the account cannot be deleted.",
                    todo: "Make sure that it lets a delete pass; accountctl deletion plan --ask-triggers tries one."
                )
            )
        }
        for trigger in plan.reachingOutside where trigger.table.schema != "storage" {
            findings.append(
                DoctorFinding(
                    .notice,
                    "deletion.trigger_outside",
                    "the trigger \(trigger.name) of \(trigger.table) may reach outside the database",
                    why: "None is asked before an account is locked out: no rollback takes back what is done outside.",
                    todo: "Make sure that all let a delete pass; or have it done after the commit, as pg_net does."
                )
            )
        }
        for fault in plan.faults {
            findings.append(
                DoctorFinding(
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
    /// The statement that adds the index which a key lacks.
    private static func index(for key: ForeignKey) -> String {
        var columns: Statement = ""
        for (place, column) in key.columns.enumerated() {
            columns += place == 0 ? "\(identifier: column)" : ", \(identifier: column)"
        }
        let statement: Statement = """
            create index concurrently on \(identifier: key.table.schema).\(identifier: key.table.name) (\(columns))
            """
        return statement.text
    }
}
