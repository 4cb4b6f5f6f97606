import AccountLifecycle
import Postgres

extension DatabaseDoctor {
    /// What would block or slow the deletion of any account, according to the catalog.
    func deletionPlan(on connection: isolated Connection) async throws -> [DoctorFinding] {
        let catalog = try await connection.transaction(readOnly: true) { try DeletionCatalog.read(on: $0) }
        let plan = DeletionPlan(catalog)
        let ontoFiles = plan.files.refusing.filter { !plan.refusing.contains($0) }
        var findings = plan.refusing.map { key in
            Self.blocking(
                key,
                why: plan.keepingSessions.contains(key)
                    ? "An account whose sessions have rows there cannot be deleted: sessions are ended before any row "
                        + "is deleted."
                    : "An account that has rows there cannot be deleted, unless another key deletes them with it."
            )
        }
        findings += ontoFiles.map { key in
            Self.blocking(
                key,
                why: "An account whose files have rows there cannot be deleted: files are deleted before rows."
            )
        }
        findings += plan.unpublishable.map(Self.unpublishable)
        findings += Self.idle(plan.idle + plan.files.idle.filter { !plan.idle.contains($0) })
        findings += plan.unindexed.map(Self.slow)
        findings += plan.triggers.filter { !$0.isOfStorage }.map(Self.running)
        findings += plan.files.triggers.filter { !$0.isOfStorage }.map(Self.runningWithFiles)
        findings += plan.reachingOutside.filter { !$0.isOfStorage }.map(Self.reachingOutside)
        findings += try missing(plan.faults + plan.files.faults, on: connection)
        findings += try owners(plan, on: connection)
        return findings.isEmpty ? [.ok("deletion.plan", "nothing in the catalog stops a deletion")] : findings
    }

    private static func blocking(_ key: ForeignKey, why: String) -> DoctorFinding {
        DoctorFinding(
            .warning,
            "deletion.blocking_key",
            "\(key.table) refers to \(key.target) by \(key.name) without ON DELETE CASCADE, or SET NULL on a nullable "
                + "column",
            why: why,
            todo: "Decide what happens to these rows: give the key a delete rule, or delete them first."
        )
    }

    private static func unpublishable(_ table: TableName) -> DoctorFinding {
        let statement: Statement = "alter table \(table.quoted) replica identity full"
        return DoctorFinding(
            .warning,
            "deletion.unpublishable",
            "\(table) is published, and has no replica identity to tell its rows apart",
            why: "An account that has rows there cannot be deleted: the server refuses to delete or change them.",
            todo: "Give the table a primary key, or: \(statement.text)"
        )
    }

    private static func slow(_ key: ForeignKey) -> DoctorFinding {
        let columns = key.columns.joined(separator: ", ")
        let rows = key.isCounted ? "about \(key.estimatedRows) rows" : "the server has not counted its rows yet"
        return DoctorFinding(
            key.estimatedRows > 10_000 ? .warning : .notice,
            "deletion.missing_index",
            "no index begins with \(columns) of \(key.table)",
            why: "Each deletion reads the whole table (\(rows)).",
            todo: index(for: key)
        )
    }

    private static func running(_ trigger: DeletionCatalog.Trigger) -> DoctorFinding {
        DoctorFinding(
            .notice,
            "deletion.trigger",
            "the trigger \(trigger.name) of \(trigger.table) runs when an account is deleted",
            why: "If it raises an error, or keeps rows as they are, the account cannot be deleted.",
            todo: "Make sure that it allows deletes; accountctl deletion plan --ask-triggers tries one."
        )
    }

    private static func runningWithFiles(_ trigger: DeletionCatalog.Trigger) -> DoctorFinding {
        DoctorFinding(
            .notice,
            "deletion.trigger_files",
            "the trigger \(trigger.name) of \(trigger.table) runs when Storage deletes an account's files",
            why: "It may have only Storage's rights. If it raises an error, the account stays locked out.",
            todo: "Make its function SECURITY DEFINER, and make sure that it allows deletes."
        )
    }

    private static func reachingOutside(_ trigger: DeletionCatalog.Trigger) -> DoctorFinding {
        DoctorFinding(
            .notice,
            "deletion.trigger_outside",
            "the trigger \(trigger.name) of \(trigger.table) may reach outside the database",
            why: "Such triggers are not tried before an account is locked out, since a rollback cannot undo what is "
                + "done outside.",
            todo: "Make sure that all of them allow deletes, or that they act only after the commit, as pg_net does."
        )
    }

    /// The rights that our role lacks for a deletion, each with the statement that grants it.
    private func missing(_ faults: [DeletionCatalog.Fault], on connection: isolated Connection) throws
        -> [DoctorFinding]
    {
        guard !faults.isEmpty else { return [] }
        let role = try connection.one("select quote_ident(current_user)", as: String.self)
        return faults.map { fault in
            let blocker = fault.blocker
            return DoctorFinding(
                .error,
                "deletion.rights",
                "\(fault.table): \(blocker.code.rawValue)" + (blocker.detail.map { " (\($0))" } ?? ""),
                why: "Rows there cannot be deleted, or cannot be seen.",
                todo: Self.granting(fault, to: role) + "; or connect as a role that has the right"
            )
        }
    }

    private static func granting(_ fault: DeletionCatalog.Fault, to role: String) -> String {
        guard let right = fault.right?.lowercased() else { return "alter role \(role) bypassrls" }
        let schema = quoteIdentifier(fault.table.schema)
        return "grant usage on schema \(schema) to \(role); grant \(right) on \(fault.table.quoted.text) to \(role)"
    }

    /// The statement that creates the missing index of a key.
    private static func index(for key: ForeignKey) -> String {
        var columns: Statement = ""
        for (place, column) in key.columns.enumerated() {
            columns += place == 0 ? "\(identifier: column)" : ", \(identifier: column)"
        }
        let statement: Statement = "create index concurrently on \(key.table.quoted) (\(columns))"
        return statement.text
    }
}
