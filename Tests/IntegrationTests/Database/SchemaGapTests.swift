import Foundation
import TestSupport
import Testing

@Suite("A schema that is older or newer than the program", .timeLimit(.minutes(5)))
struct SchemaGapTests {
    private static let anna = OperatorStage.id(1)

    private func withInstalled(
        _ body: @Sendable (OperatorStage) async throws -> Void
    ) async throws {
        try await TestDatabase.with(.installed) { database in
            let keys = try TestKeys.make()
            defer { keys.remove() }
            let stage = OperatorStage(
                database: database,
                folder: FileManager.default.temporaryDirectory,
                variables: database.variables.merging(keys.variables) { $1 }
            )
            try await stage.addAccounts(1)
            try await body(stage)
        }
    }

    /// Expects that a command fails with exit code 5 and these parts of a message when the schema lacks what it needs.
    private func expectTold(_ command: [String], _ parts: [String], _ stage: OperatorStage) async throws {
        let result = try await stage.run(command)
        #expect(result.status == 5, "\(command): \(result.status) \(result.errors)")
        #expect(result.output.isEmpty || result.output == "[\n", "\(command)")
        for part in parts { #expect(result.errors.contains(part), "\(command): \(result.errors)") }
        #expect(result.errors.split(separator: "\n").count <= 4, "\(result.errors)")
    }

    @Test("Behind: commands that need missing objects say how many migrations are missing and how to apply them")
    func behind() async throws {
        try await withInstalled { stage in
            // This simulates a newer program on an older schema: names that its statements use do not exist here.
            let count = try await stage.database.psql("select count(*) from accountctl.migrations where number >= 18")
            try await stage.database.psql(
                """
                delete from accountctl.migrations where number >= 18;
                alter table accountctl.deletion_requests rename column legal_deadline to deadline;
                alter table accountctl.jobs rename column limit_key to lane;
                alter table accountctl.job_limits rename column set_running to running;
                alter table accountctl.apple_credentials rename column checked_at to checked;
                alter table accountctl.credential_events rename column outcome to result;
                alter table accountctl.operator_log rename column ticket to number;
                alter table accountctl.mail_streams rename to streams;
                """
            )
            let words = count == "1" ? "1 migration behind" : "\(count) migrations behind"
            for command in [
                ["user", "show", Self.anna], ["deletion", "list"],
                ["jobs", "limit", "--kind", "mail.check", "--running", "2"], ["apple", "credentials", "list"],
                ["apple", "events", "list"], ["audit", "list"], ["relay", "stream", "list"],
            ] { try await expectTold(command, [words, "at 17", "accountctl migrate up", "migrate plan"], stage) }
            #expect(try await stage.run(["migrate", "status"]).status == 1)
            // A command that does not need the missing names works.
            #expect(try await stage.run(["user", "list"]).status == 0)
        }
    }

    @Test("Ahead: commands that need removed objects name the newer version, and all others work")
    func ahead() async throws {
        try await withInstalled { stage in
            try await stage.database.psql(
                """
                insert into accountctl.migrations (number, name, bundle, checksum, state, duration_ms, version)
                values (9001, 'tomorrow', 'core', repeat('0', 64), 'done', 1, '99.1.0')
                """
            )
            for command in [
                ["user", "show", Self.anna], ["user", "list"], ["user", "find", Self.anna], ["deletion", "list"],
                ["jobs", "list"], ["apple", "events", "list"],
            ] {
                #expect(try await stage.run(command).status == 0, "\(command)")
            }
            #expect(try await stage.run(["migrate", "status"]).status == 5)
            let refused = try await stage.run(["migrate", "up"])
            #expect(refused.status == 5 && refused.errors.contains("a newer version (99.1.0)"), "\(refused.errors)")
            try await stage.database.psql(
                """
                alter table accountctl.deletion_requests rename to erasures;
                alter table accountctl.jobs rename to tasks;
                alter table accountctl.credential_events rename column kind to what;
                """
            )
            for command in [["deletion", "list"], ["user", "list"], ["jobs", "list"], ["apple", "events", "list"]] {
                try await expectTold(command, ["ahead of this program", "99.1.0", "9001", "migrate status"], stage)
            }
        }
    }

    @Test("Not installed: commands name the command that installs the schema, and user find works without it")
    func missing() async throws {
        try await TestDatabase.with(.platform) { database in
            try await database.psql("insert into auth.users (id, email) values ('\(Self.anna)', 'u1@example.com')")
            for command in [["deletion", "list"], ["jobs", "list"], ["apple", "events", "list"], ["audit", "list"]] {
                let result = try await AccountctlProcess(command, environment: database.variables).result()
                #expect(result.status == 1 && result.output.isEmpty, "\(command): \(result.errors)")
                #expect(result.errors.contains("the schema is not installed in this database"), "\(result.errors)")
                #expect(result.errors.contains("accountctl migrate up"))
            }
            let found = try await AccountctlProcess.run("user", "find", Self.anna, environment: database.variables)
            #expect(found.status == 0, "\(found.errors)")
        }
    }

    @Test("A database without auth.users is reported as not Supabase's, without advice to install the schema")
    func otherDatabase() async throws {
        let keys = try TestKeys.make()
        defer { keys.remove() }
        try await TestDatabase.with(.empty) { database in
            for command in [
                ["user", "find", Self.anna], ["deletion", "list"], ["migrate", "up"], ["migrate", "plan"],
                ["doctor", "--database-only"], ["worker"],
            ] {
                let variables = database.variables.merging(keys.variables) { $1 }
                let result = try await AccountctlProcess(command, environment: variables).result()
                let told = result.output + result.errors
                #expect(result.status == 1, "\(result)")
                #expect(
                    told.contains("the database \"\(database.name)\" has no auth.users: it is not Supabase's"),
                    "\(result)"
                )
                #expect(!told.contains("accountctl migrate up"), "\(result)")
            }
            #expect(try await database.psql("select count(*) from pg_namespace where nspname = 'accountctl'") == "0")
        }
    }

    @Test("A worker does not start on an older schema")
    func worker() async throws {
        try await withInstalled { stage in
            try await stage.database.psql(
                "delete from accountctl.migrations where number = (select max(number) from accountctl.migrations where bundle = 'core')"
            )
            let refused = try await stage.run(["worker", "--until-idle"])
            #expect(refused.status == 5, "\(refused.errors)")
            #expect(refused.errors.contains("1 migration behind") && refused.errors.contains("accountctl migrate up"))
        }
    }
}
