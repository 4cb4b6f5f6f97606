import Foundation
import Migrations
import Postgres
import TestSupport
import Testing

/// Migrations without a transaction, which can leave objects behind when they fail.
extension MigrationEngineTests {
    @Test("An index left unfinished is dropped and built again")
    func invalidIndex() async throws {
        try await TestDatabase.with(.empty) { database in
            let first = try Self.migration(1, "create table t (i int); insert into t values (1), (1);")
            let unique = try Self.migration(
                2,
                "-- why\ncreate unique index concurrently if not exists t_i on public.t (i);",
                head: "bundle=core no-transaction"
            )
            let set = try Self.set(first, unique)
            // The two equal rows make the index build fail at its end, which leaves an invalid index behind.
            let error = await #expect(throws: MigrationError.self) { try await Self.up(set, database) }
            #expect(error?.code == .failed)
            #expect(
                try await database.psql("select indisvalid from pg_index where indexrelid = 't_i'::regclass") == "f"
            )
            #expect(try await database.psql("select state from accountctl.migrations where number = 2") == "started")
            try await database.psql("delete from t where ctid = (select min(ctid) from t)")
            let dropped = Collected()
            try await Self.up(
                set,
                database,
                event: { event in
                    if case .droppedInvalidIndex(let name) = event { dropped.add([name]) }
                }
            )
            #expect(dropped.all == ["t_i"])
            #expect(
                try await database.psql("select indisvalid from pg_index where indexrelid = 't_i'::regclass") == "t"
            )
            #expect(try await database.psql("select state from accountctl.migrations where number = 2") == "done")
        }
    }

    @Test("A finished index that the history does not record yet is not built again")
    func finishedIndex() async throws {
        try await TestDatabase.with(.empty) { database in
            let set = try Self.set(
                Self.migration(1, "create table t (i int);"),
                Self.migration(2, "create index concurrently t_i on t (i)", head: "bundle=core no-transaction")
            )
            try await Self.up(set, database)
            let oid = try await database.psql("select 't_i'::regclass::oid")
            try await database.psql("update accountctl.migrations set state = 'started' where number = 2")
            #expect(try await Self.up(set, database).applied == ["0002_step.sql"])
            #expect(try await database.psql("select 't_i'::regclass::oid") == oid)
        }
    }

    @Test("A migration without a transaction leaves the session's settings as they were")
    func settingsAfterOneAlone() async throws {
        try await TestDatabase.with(.empty) { database in
            let set = try Self.set(
                Self.migration(1, "create table t (i int);"),
                Self.migration(2, "create index concurrently t_i on t (i)", head: "bundle=core no-transaction")
            )
            var options = MigrationEngine.Options()
            options.sessionSettings = ["accountctl.test": "chosen"]
            let engine = Self.engine(set, database, options: options)
            var configuration = database.configuration
            configuration.statementDeadline = nil
            configuration.sessionSettings["lock_timeout"] = "7s"
            try await Connection.with(configuration, logger: Self.logger) { connection in
                let settings: Statement = """
                    select concat_ws(
                        ' ',
                        current_setting('client_connection_check_interval'),
                        current_setting('default_transaction_isolation'),
                        current_setting('idle_in_transaction_session_timeout'),
                        current_setting('lock_timeout'),
                        current_setting('statement_timeout'),
                        current_setting('accountctl.test', true)
                    )
                    """
                let before = try connection.one(settings, as: String.self)
                #expect(before.hasPrefix("10s read committed "))
                try await engine.up(on: connection)
                let after = try connection.one(settings, as: String.self)
                // Once a session has set a custom setting, it reads as an empty text instead of null.
                #expect(after == before + " ")
            }
        }
    }
}
