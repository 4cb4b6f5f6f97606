import Migrations
import Postgres
import Settings

/// Looks at the database.
struct DatabaseDoctor {
    let settings: Settings
    let engine: MigrationEngine

    func findings(on connection: isolated Connection) async throws -> [Finding] {
        var findings = try server(on: connection)
        findings += try role(on: connection)
        var isInstalled = false
        findings += try unlessRefused("the schema") {
            let (found, isThere) = try schema(on: connection)
            isInstalled = isThere
            return found
        }
        findings += try unlessRefused("the catalog") { try deletionPlan(on: connection) }
        guard isInstalled else { return findings }
        findings += try unlessRefused("the job tables") { try jobs(on: connection) }
        findings += try unlessRefused("the requests") { try requests(on: connection) }
        findings += try unlessRefused("the rejections by Apple") { try rejections(on: connection) }
        findings += try unlessRefused("the authorization codes") { try codes(on: connection) }
        findings += try unlessRefused("the mail streams") { try mail(on: connection) }
        return findings
    }

    /// A part that the role may not look at is a finding of its own, and no reason to be silent about the rest.
    private func unlessRefused(_ what: String, _ part: () throws -> [Finding]) throws -> [Finding] {
        do {
            return try part()
        } catch let error as PostgresError where error.sqlState == .insufficientPrivilege {
            return [
                Finding(
                    .error,
                    "database.rights",
                    "\(what) cannot be looked at: \(ErrorReport(error).message)",
                    why: "What cannot be read cannot be judged, erased or verified.",
                    todo: "Connect as the role that installed the schema (postgres on Supabase)."
                )
            ]
        }
    }
}
