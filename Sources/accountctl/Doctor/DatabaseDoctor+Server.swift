import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension DatabaseDoctor {
    func server(on connection: isolated Connection) throws -> [DoctorFinding] {
        let version = connection.serverVersion
        let (name, isStandby, serverTime) = try connection.one(
            """
            select current_setting('server_version'), pg_is_in_recovery(),
                   extract(epoch from clock_timestamp())::double precision
            """,
            as: (String, Bool, Double).self
        )
        var findings: [DoctorFinding] = []
        if (150_000..<180_000).contains(version) {
            findings.append(.ok("database.version", "PostgreSQL \(name)"))
        } else {
            findings.append(
                DoctorFinding(
                    .warning,
                    "database.version",
                    "PostgreSQL \(name)",
                    why: "This program is tested with PostgreSQL 15, and made for what 15 to 17 have in common.",
                    todo: "Use one of these."
                )
            )
        }
        if isStandby {
            findings.append(
                DoctorFinding(
                    .error,
                    "database.standby",
                    "this server is a standby",
                    why: "It takes no writes: nothing can be migrated or erased.",
                    todo: "Name the primary, or several hosts with target_session_attrs=read-write."
                )
            )
        }
        switch connection.route {
        case .direct: findings.append(.ok("database.pooler", "a direct connection"))
        case .sessionPooler:
            findings.append(.ok("database.pooler", "a pooler in session mode, which takes nothing away"))
        case .transactionPooler:
            findings.append(
                DoctorFinding(
                    .warning,
                    "database.pooler",
                    "a pooler in transaction mode lies between here and the server",
                    why:
                        "Workers hear no notifications there, only look about by the clock, and migrations are refused.",
                    todo: "On Supabase use port 5432 (session mode) for workers and migrations."
                )
            )
        case .unknownPooler:
            findings.append(
                DoctorFinding(
                    .warning,
                    "database.pooler",
                    "whether the pooler in between keeps sessions could not be found out",
                    why: "Asking takes a second connection, and none was to be had. Until then nothing is listened to.",
                    todo: "Look whether its connections are all taken, and run the doctor again."
                )
            )
        }
        let difference = abs(serverTime - now().timeIntervalSince1970)
        if difference > 5 {
            findings.append(
                DoctorFinding(
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
}
