import Foundation
import Migrations
import Postgres
import TestSupport
import Testing

/// The product's own migrations.
extension MigrationEngineTests {
    @Test("The product's own migrations run as the limited role, and a second run has nothing to do")
    func embedded() async throws {
        try await TestDatabase.withPlatform { database in
            let set = try MigrationSet.embedded()
            #expect(try await Self.up(set, database).applied.count == set.migrations.count)
            #expect(try await Self.up(set, database).applied.isEmpty)
            let differences = try await database.withConnection { connection in
                try await CatalogSnapshot.differences(on: connection)
            }
            #expect(differences.isEmpty)
        }
    }

    @Test("The private schema stays closed where the database's default privileges open every new schema")
    func openDefaults() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.psql("alter default privileges for role postgres grant usage on schemas to anon")
            try await Self.up(try Self.set(Self.migration(1, "create schema other;")), database)
            let usable: Statement = """
                select nspname::text
                from pg_namespace
                where nspname in ('accountctl', 'other')
                  and has_schema_privilege('anon', oid, 'usage')
                """
            #expect(try await database.withConnection { try $0.query(usable, as: String.self) } == ["other"])
        }
    }

    /// Otherwise the first tables would belong to the role, and no other role could go on from there.
    @Test("A role that lacks a right for one of the first migrations is refused before anything is made")
    func lacksRight() async throws {
        try await TestDatabase.withPlatform { database in
            try await database.psql("revoke references on auth.users from postgres")
            let set = try MigrationSet.embedded()
            let error = await #expect(throws: MigrationError.self) { try await Self.up(set, database) }
            #expect(error?.code == .refused)
            #expect(error?.message.hasSuffix(" lacks rights: references on auth.users") == true)
            #expect(try await database.psql("select to_regnamespace('accountctl') is null") == "t")
        }
    }

    /// Many projects publish every table for Realtime; a published table without a replica identity refuses deletes.
    @Test("They run where every table is published, and rows of the job history can be deleted there")
    func everythingPublished() async throws {
        try await TestDatabase.withPlatform { database in
            _ = try await database.psql("create publication everything for all tables")
            try await Self.up(try MigrationSet.embedded(), database)
            try await database.withConnection { connection in
                try connection.execute(
                    """
                    insert into accountctl.job_history
                        (id, lease, run_at, created_at, outcome, priority, attempt, crashes, args_version, queue, kind, args,
                        finished_at)
                    select n, n, now(), now(), 'completed'::accountctl.job_end, 5, 1, 0, 1, 'q', 'k', '{}'::jsonb,
                        now() + n * interval '1 day'
                    from generate_series(0, 9) n
                    """
                )
                try connection.execute(
                    "select accountctl.prepare_job_history((now() at time zone 'UTC')::date, 10)"
                )
                #expect(
                    try connection.one("select count(*) from accountctl.job_history_default", as: Int.self) == 0
                )
                // Trying an ended job again deletes its row; one row is in a partition that the migration created, the
                // other in a partition created since.
                #expect(try connection.execute("delete from accountctl.job_history where id in (1, 8)") == 2)
            }
        }
    }

    /// Before migration 0077, identifiers stayed when their key was given up; afterwards no request waits for such a key.
    @Test("Identifiers that were given up with their key are wiped, and those of other requests are not")
    func givenUp() async throws {
        try await TestDatabase.withPlatform { database in
            let all = try MigrationSet.embedded()
            let before = try MigrationSet(all.migrations.filter { $0.fileName < "0077" })
            try await Self.up(before, database)
            try await database.withConnection { connection in
                for isGivenUp in [false, true] {
                    try connection.execute(
                        """
                        insert into accountctl.deletion_requests
                            (user_id, origin, run_after, legal_deadline, sealed_identifiers, sealing_key_id,
                            without_identifiers)
                        values (gen_random_uuid(), 'operator', now(), now() + interval '30 days', 'x', 'k', \(isGivenUp))
                        """
                    )
                }
            }
            try await Self.up(all, database)
            try await database.withConnection { connection in
                let left = try connection.query(
                    """
                    select without_identifiers, sealed_identifiers is not null, sealing_key_id
                    from accountctl.deletion_requests
                    order by 1
                    """,
                    as: (Bool, Bool, String?).self
                )
                #expect(left.map(\.0) == [false, true])
                #expect(left.map(\.1) == [true, false])
                #expect(left.map(\.2) == ["k", nil])
            }
        }
    }

    /// Before migration 0080, the dates of a transfer told which tokens are of the team that the app left.
    @Test("Tokens of a team that an app has left by then count as such, and others are of no known team")
    func teams() async throws {
        try await TestDatabase.withPlatform { database in
            let all = try MigrationSet.embedded()
            let before = try MigrationSet(all.migrations.filter { $0.fileName < "0080" })
            try await Self.up(before, database)
            try await database.withConnection { connection in
                // The app moved two hours ago; of its tokens, one is older and one is younger.
                for (name, hours) in [("former", 3), ("new", 1)] {
                    let user = UUID()
                    for client in ["com.example.app", "com.example.web"] {
                        try connection.execute(
                            """
                            with account as (
                                insert into auth.users (id)
                                values (\(user))
                                on conflict do nothing
                            )
                            insert into accountctl.pending_revocations
                                (client_id, sealed_token, sealing_key_id, give_up_at, created_at, last_outcome)
                            values (
                                \(client), \(name), 'k', now(), now() - \(hours) * interval '1 hour',
                                case when \(client) = 'com.example.web' and \(name) = 'former' then 'former_team' end
                            )
                            """
                        )
                        try connection.execute(
                            """
                            insert into accountctl.apple_credentials
                                (user_id, client_id, apple_sub, sealed_token, sealing_key_id, obtained_at)
                            values (\(user), \(client), \(name), \(name), 'k', now() - \(hours) * interval '1 hour')
                            """
                        )
                    }
                    try connection.execute(
                        """
                        insert into accountctl.apple_transfers
                            (user_id, client_id, target_team, old_sub, transfer_identifier, new_sub, state, updated_at)
                        values (
                            \(user), 'com.example.app', 'RECIPIENT1', \(name), \(name), 'n', 'exchanged',
                            now() - interval '2 hours'
                        )
                        """
                    )
                }
            }
            try await Self.up(all, database)
            try await database.withConnection { connection in
                for table in ["apple_credentials", "pending_revocations"] {
                    let former = try connection.query(
                        "select sealed_token from accountctl.\(unsafeSQL: table) where team_id = 'FORMERTEAM'",
                        as: String.self
                    )
                    #expect(former == ["former", "former"], "\(table)")
                }
                // By it a worker of the release before tells, which would call a dead token revoked otherwise.
                let told = try connection.query(
                    "select sealed_token from accountctl.pending_revocations where last_outcome = 'former_team'",
                    as: String.self
                )
                #expect(told == ["former"])
            }
        }
    }
}
