import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension DatabaseDoctor {
    /// Rates the server's version: the tests run with the two that Supabase offers, 15 and 17.
    static func version(_ number: Int, _ name: String) -> DoctorFinding {
        let (code, what) = ("database.version", "PostgreSQL \(name)")
        let why = "This program is tested with PostgreSQL 15 and 17."
        return switch number {
        case 150_000..<160_000, 170_000..<180_000: .ok(code, what)
        case 160_000..<170_000:
            DoctorFinding(.notice, code, what, why: why, todo: "Rehearse a deletion before you run real ones.")
        default: DoctorFinding(.warning, code, what, why: why, todo: "Use one of these.")
        }
    }

    /// Checks the server and the connection to it.
    func server(on connection: isolated Connection) throws -> [DoctorFinding] {
        let (name, isStandby, isReadOnly, serverTime) = try connection.one(
            """
            select current_setting('server_version'), pg_is_in_recovery(),
                   current_setting('default_transaction_read_only')::boolean,
                   extract(epoch from clock_timestamp())::double precision
            """,
            as: (String, Bool, Bool, Double).self
        )
        let difference = abs(serverTime - now().timeIntervalSince1970)
        return [Self.version(connection.serverVersion, name)]
            + Self.writes(isStandby: isStandby, isReadOnly: isReadOnly)
            + Self.way(connection.protection)
            + [Self.pooler(connection.route), Self.clock(off: difference)]
    }

    /// What prevents writes to the database.
    private static func writes(isStandby: Bool, isReadOnly: Bool) -> [DoctorFinding] {
        let why = "It accepts no writes: nothing can be migrated or erased."
        var findings: [DoctorFinding] = []
        if isStandby {
            findings.append(
                DoctorFinding(
                    .error,
                    "database.standby",
                    "this server is a standby",
                    why: why,
                    todo: "Name the primary, or several hosts with target_session_attrs=read-write."
                )
            )
        }
        if isReadOnly {
            findings.append(
                DoctorFinding(
                    .error,
                    "database.read_only",
                    "the database is in read-only mode for this role",
                    why: why,
                    todo: PostgresError.readOnlyHint
                )
            )
        }
        return findings
    }

    /// How the connection is protected from others on the network; it goes to another machine without TLS only if the
    /// settings allow that.
    static func way(_ protection: Protection?) -> [DoctorFinding] {
        let code = "database.tls"
        let todo = "Put sslmode=verify-full and sslrootcert=, with the certificate of the server, into database.url."
        switch protection {
        case .local?, nil: return []
        case .verified?: return [.ok(code, "the server's certificate is checked")]
        case .unverified?:
            return [
                DoctorFinding(
                    .warning,
                    code,
                    "sslmode does not require the server's certificate to be checked",
                    why: "Somebody on the network path can impersonate the server, and get the password and all the "
                        + "data.",
                    todo: todo
                )
            ]
        case .plaintext?:
            return [
                DoctorFinding(
                    .notice,
                    code,
                    "the connection goes to another machine without TLS",
                    why: "Anybody on the network path can read and change all data.",
                    todo: todo + " Leave it as it is if nobody else is on that network."
                )
            ]
        }
    }

    /// The pooler between here and the server, if any.
    private static func pooler(_ route: Route) -> DoctorFinding {
        let code = "database.pooler"
        return switch route {
        case .direct: .ok(code, "a direct connection")
        case .sessionPooler: .ok(code, "a pooler in session mode, which restricts nothing")
        case .transactionPooler:
            DoctorFinding(
                .warning,
                code,
                "there is a pooler in transaction mode between here and the server",
                why: "Workers receive no notifications through it and can only poll, and migrations are refused.",
                todo: "On Supabase use port 5432 (session mode) for workers and migrations."
            )
        case .unknownPooler:
            DoctorFinding(
                .warning,
                code,
                "could not find out whether the pooler keeps sessions",
                why: "Finding out takes a second connection, and none was available. Until then workers do not listen.",
                todo: "Check whether all of its connections are in use, and run doctor again."
            )
        }
    }

    /// Checks that the clocks of this machine and the server agree.
    private static func clock(off seconds: Double) -> DoctorFinding {
        let code = "database.clock"
        guard seconds > 5 else { return .ok(code, "the clocks agree") }
        return DoctorFinding(
            .warning,
            code,
            "the clocks of this machine and the server differ by \(Int(seconds)) s",
            why: "Apple refuses client secrets whose times are wrong.",
            todo: "Synchronise the clock of this machine by NTP."
        )
    }
}
