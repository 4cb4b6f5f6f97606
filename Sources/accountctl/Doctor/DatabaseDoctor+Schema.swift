import AccountLifecycle
import Migrations
import Postgres
import Terminal

extension DatabaseDoctor {
    func schema(on connection: isolated Connection) async throws -> ([DoctorFinding], isInstalled: Bool) {
        let plan = try engine.plan(on: connection)
        guard plan.items.contains(where: { $0.applied != nil }) else {
            return (
                [
                    DoctorFinding(
                        .error,
                        "schema.installed",
                        "the schema is not installed",
                        why: "There is nowhere to keep requests and jobs.",
                        todo: "accountctl migrate up"
                    )
                ], false
            )
        }
        var findings: [DoctorFinding] = []
        let newer = plan.conflicts.filter { $0.state == .unknown }
        if let newest = newer.last {
            let version = newest.applied?.version ?? "unknown"
            findings.append(
                DoctorFinding(
                    .warning,
                    "schema.ahead",
                    Wording.count(newer.count, "migration") + " of a newer version (\(version))",
                    why: "This version goes on working with the schema of the next one, and no further.",
                    todo: "Put the newer version in place everywhere, this one included."
                )
            )
        }
        for conflict in plan.conflicts where conflict.state != .unknown {
            findings.append(
                DoctorFinding(
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
                DoctorFinding(
                    .error,
                    "schema.pending",
                    Wording.count(plan.pending.count, "migration") + " to be applied",
                    why: "No worker of this version starts before.",
                    todo: "accountctl migrate up"
                )
            )
        }
        let differences = try await CatalogSnapshot.differences(on: connection)
        for difference in differences.prefix(20) {
            findings.append(
                DoctorFinding(
                    .warning,
                    "schema.drift",
                    "\(difference.kind.rawValue): \(difference.object)",
                    why: "Somebody changed what the migrations made; a policy or a right may be gone.",
                    todo: "accountctl migrate verify --json shows both sides; --accept keeps the change."
                )
            )
        }
        if findings.isEmpty { findings.append(.ok("schema", "up to date, and as the migrations made it")) }
        return (findings, try AccountLifecycle.isInstalled(on: connection))
    }
}
