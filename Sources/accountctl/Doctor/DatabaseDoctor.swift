import Migrations
import Postgres
import Settings

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Checks the database.
struct DatabaseDoctor {
    let settings: Settings
    let engine: MigrationEngine
    /// How long there may be no live worker before that is an error.
    let patience: Duration
    /// Whether the operator stated the patience, as for workers that cron starts; otherwise it derives from the lease.
    let isPatienceStated: Bool
    /// The clock of this machine.
    let now: @Sendable () -> Date

    func findings(on connection: isolated Connection) async throws -> [DoctorFinding] {
        var findings = try await look("the server") { try server(on: connection) }
        if let absence = try SupabaseDatabase.absence(on: connection) {
            let why = "There are no accounts here; this is probably the wrong database."
            return findings + [
                DoctorFinding(.error, "database.supabase", absence, why: why, todo: SupabaseDatabase.hint)
            ]
        }
        findings += try await look("the role") { try role(on: connection) + creators(on: connection) }
        var isInstalled = false
        findings += try await look("the schema") {
            let (found, isThere) = try await schema(on: connection)
            isInstalled = isThere
            return found
        }
        findings += try await look("the catalog") { try await deletionPlan(on: connection) }
        guard isInstalled else { return findings }
        findings += try await look("the job tables") { try jobs(on: connection) }
        findings += try await look("what the database was last used with") { try copies(on: connection) }
        findings += try await look("the requests") { try requests(on: connection) }
        findings += try await look("the keys") { try keys(on: connection) }
        findings += try await look("the rejections by Apple") { try rejections(on: connection) }
        findings += try await look("the credentials held") { try clients(on: connection) }
        findings += try await look("the revocations at Apple") { try revocations(on: connection) }
        findings += try await look("Apple's notifications") { try notifications(on: connection) }
        findings += try await look("the authorization codes") { try codes(on: connection) }
        findings += try await look("the mail streams") { try mail(on: connection) }
        return findings
    }

    /// Runs one part of the checks and turns its failure into a finding, so that the others still run; a lost
    /// connection ends them all.
    private func look(_ what: String, _ part: () async throws -> [DoctorFinding]) async throws -> [DoctorFinding] {
        do {
            return try await part()
        } catch let error as PostgresError where error.connectionUsable {
            return [refusal(of: what, error)]
        }
    }

    private func refusal(of what: String, _ error: PostgresError) -> DoctorFinding {
        let said = "cannot check \(what): \(CommandError(error).message)"
        switch error.sqlState {
        case .insufficientPrivilege?:
            return DoctorFinding(
                .error,
                "database.rights",
                said,
                why: "What cannot be read cannot be checked, erased or verified.",
                todo: "Connect as the role that installed the schema (postgres on Supabase)."
            )
        case let state? where SchemaGap.telling.contains(state):
            return DoctorFinding(
                .error,
                "schema.behind",
                said,
                why: "This version and its workers need tables that this database does not have yet.",
                todo: "accountctl migrate up"
            )
        default:
            return DoctorFinding(
                .error,
                "database.failed",
                said,
                why: "What cannot be read cannot be checked.",
                todo: "Try again; the server's log may say more."
            )
        }
    }
}
