import EventThread
import LibPQ
import TestSupport
import Testing

@testable import Postgres

@Suite(.timeLimit(.minutes(5))) struct TransactionTests {
    /// Under a stricter level a transaction that has waited for a lock would read the rows as they were before the
    /// wait.
    @Test func aDatabasesOwnIsolationLevelIsNotTaken() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.psql("alter database \(database.name) set default_transaction_isolation = serializable")
            try await database.withConnection { connection in
                let level: Statement = "select current_setting('transaction_isolation')"
                #expect(try connection.one(level, as: String.self) == "read committed")
                let inside = try await connection.transaction { try $0.one(level, as: String.self) }
                #expect(inside == "read committed")
                let asked = try await connection.transaction(isolation: .repeatableRead) {
                    try $0.one(level, as: String.self)
                }
                #expect(asked == "repeatable read")
            }
        }
    }

    /// Without the flush a crash of the server could lose what was recorded before an act that cannot be undone.
    @Test(arguments: [("off", "on"), ("local", "local")])
    func aCommitWaitsForTheDiskWhateverTheDatabaseSays(set: String, expected: String) async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.psql("alter database \(database.name) set synchronous_commit = \(set)")
            let setting: Statement = "show synchronous_commit"
            for pooler in [ConnectionConfiguration.Pooler.none, .detect, .transaction] {
                var configuration = database.configuration
                configuration.pooler = pooler
                // As for migrations: every call with a deadline, such as the first one of a session, then exceeds it.
                configuration.statementDeadline = nil
                let (within, after) = try await Connection.with(configuration, logger: .silent) { connection in
                    let within = try await connection.transaction { try $0.one(setting, as: String.self) }
                    return (within, try connection.one(setting, as: String.self))
                }
                #expect(within == expected)
                // Behind a transaction pooler nothing may stay on a server process, which other clients use, too.
                #expect(after == (pooler == .transaction ? set : expected))
            }
        }
    }

    /// Behind a transaction pooler each transaction makes the settings of a session for itself.
    ///
    /// None is made by a query, which would take the snapshot: the body may first wait for something that it has to see.
    @Test func aTransactionHasTheSessionsSettingsAndTakesItsSnapshotLate() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.psql("create table t (id int)", user: "postgres")
            let question: Statement = """
                select current_setting('idle_in_transaction_session_timeout'),
                       current_setting('client_connection_check_interval'), current_setting('work_mem'),
                       (select count(*) from t)
                """
            for pooler in [ConnectionConfiguration.Pooler.none, .transaction] {
                var configuration = database.configuration
                configuration.pooler = pooler
                configuration.sessionSettings = ["work_mem": "7MB"]
                let (found, after) = try await Connection.with(configuration, logger: .silent) { connection in
                    let found = try await connection.transaction(isolation: .repeatableRead, readOnly: true) {
                        connection -> (String, String, String, Int) in
                        // An earlier snapshot would see an empty table.
                        try await database.psql("truncate t; insert into t values (1)", user: "postgres")
                        return try connection.one(question, as: (String, String, String, Int).self)
                    }
                    return (found, try connection.one("show work_mem", as: String.self))
                }
                #expect(found == ("1min", "10s", "7MB", 1))
                #expect((after == "7MB") == (pooler == .none))
            }
        }
    }

    /// Servers before 17 have no `transaction_timeout`.
    @Test func aTransactionMayTakeAsLongAsWhatHappensInIt() async throws {
        try await TestDatabase.with(.empty) { database in
            let hasLimit = try await database.psql("show server_version_num") >= "170000"
            if hasLimit { try await database.psql("alter database \(database.name) set transaction_timeout = '1s'") }
            let setting: Statement = "select coalesce(current_setting('transaction_timeout', true), 'unknown')"
            let limit = try await database.withConnection { try $0.one(setting, as: String.self) }
            #expect(limit == (hasLimit ? "0" : "unknown"))
            var configuration = database.configuration
            configuration.pooler = .transaction
            let within = try await Connection.with(configuration, logger: .silent) { connection in
                try await connection.transaction { try $0.one(setting, as: String.self) }
            }
            #expect(within == limit)
        }
    }

    @Test func aDeferredConstraintAtCommitIsNotInDoubt() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withConnection { connection in
                try connection.execute("create temp table t (id int unique deferrable initially deferred)")
                let error = try await PostgresError.expected {
                    try await connection.transaction { connection in
                        try connection.execute("insert into t values (1), (1)")
                    }
                }
                #expect(error.code == .server && error.sqlState == .uniqueViolation && error.outcomeKnown)
                #expect(try connection.one("select count(*) from t", as: Int.self) == 0)
            }
        }
    }

    /// These states also mean a stale prepared statement, which is retried; a second COMMIT would find no transaction
    /// and succeed.
    @Test(arguments: ["0A000", "26000"])
    func aRefusedCommitIsNotRepeated(state: String) async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withConnection { connection in
                try connection.script(
                    unsafeSQL: """
                        create temp table t (id int);
                        create function refuse() returns trigger language plpgsql
                        as $$ begin raise exception 'no' using errcode = '\(state)'; end $$;
                        create constraint trigger refuse after insert on t deferrable initially deferred
                        for each row when (new.id < 0) execute function refuse()
                        """
                )
                // Often enough for COMMIT to be a prepared statement.
                for id in 1...5 {
                    try await connection.transaction { try $0.execute("insert into t values (\(id))") }
                }
                let error = try await PostgresError.expected {
                    try await connection.transaction { try $0.execute("insert into t values (-1)") }
                }
                #expect(error.code == .server && error.sqlState?.rawValue == state && error.outcomeKnown)
                #expect(try connection.one("select count(*) from t", as: Int.self) == 5)
                try await connection.transaction { try $0.execute("insert into t values (6)") }
            }
        }
    }

    /// A failed COMMIT also undoes the SET that raised the server's limit.
    @Test func aFailedCommitLeavesNoHigherLimitBehind() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withConnection { connection in
                try connection.execute("create temp table t (id int unique deferrable initially deferred)")
                let before = try connection.one("show statement_timeout", as: String.self)
                for failing: Statement in ["insert into t values (1), (1)", "select 1/0"] {
                    let error = try await PostgresError.expected {
                        try await connection.transaction { connection in
                            let raised = try connection.one(
                                "show statement_timeout",
                                as: String.self,
                                deadline: .seconds(1000)
                            )
                            #expect(raised == "950s")
                            _ = try? connection.execute(failing)
                        }
                    }
                    #expect(error.outcomeKnown)
                    #expect(try connection.one("show statement_timeout", as: String.self) == before)
                    // The connection knows that the limit is low again, and raises it for the next long statement.
                    let again = try connection.one("show statement_timeout", as: String.self, deadline: .seconds(900))
                    #expect(again == "855s")
                    try connection.script(unsafeSQL: "set statement_timeout = '\(before)'")
                    connection.serverLimit = .seconds(30)
                }
            }
        }
    }

    @Test func aSwallowedFailureIsToldAtCommit() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withConnection { connection in
                let error = try await PostgresError.expected {
                    try await connection.transaction { connection in
                        _ = try? connection.execute("select 1/0")
                    }
                }
                #expect(error.code == .transactionRolledBack)
                let isOpen = connection.isInTransaction
                #expect(!isOpen)
            }
        }
    }

    @Test func misuseIsToldApart() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withConnection { connection in
                let nested = try await PostgresError.expected {
                    try await connection.transaction { try await $0.transaction { _ in } }
                }
                #expect(nested.code == .transactionState)
                let ended = try await PostgresError.expected {
                    try await connection.transaction { _ = try $0.execute("commit") }
                }
                #expect(ended.code == .transactionState)
                let outside = try await PostgresError.expected {
                    try await connection.savepoint { _ in }
                }
                #expect(outside.code == .transactionState)
                #expect(try connection.one("select 1", as: Int.self) == 1)
            }
        }
    }

    @Test func levelsAndReadOnlyReachTheServer() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withConnection { connection in
                let level = try await connection.transaction(isolation: .repeatableRead, readOnly: true) { connection in
                    try connection.one(
                        "select current_setting('transaction_isolation'), current_setting('transaction_read_only')",
                        as: (String, String).self
                    )
                }
                #expect(level == ("repeatable read", "on"))
            }
        }
    }

    @Test func aCancelledTransactionIsRolledBack() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withPool(maximumConnections: 1) { pool in
                _ = try await pool.withConnection { try $0.execute("create table t (id int)") }
                let task = Task {
                    try await pool.withTransaction { connection in
                        try connection.execute("insert into t values (1)")
                        try connection.execute("select pg_sleep(60)")
                    }
                }
                try await database.waitUntilRunning("pg_sleep")
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
                #expect(try await pool.withConnection { try $0.one("select count(*) from t", as: Int.self) } == 0)
            }
        }
    }

    /// Whether the connection breaks after the server has taken COMMIT or before it has seen it, the client cannot
    /// tell.
    @Test(arguments: [true, false])
    func aConnectionLostDuringCommitLeavesTheOutcomeInDoubt(afterServerAnswered: Bool) async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withConnection { try $0.execute("create table t (id int)") }
            try await TCPProxy.with(to: database.cluster.port) { proxy in
                let error = try await PostgresError.expected {
                    try await database.withConnection(through: proxy) { connection in
                        try await connection.transaction { connection in
                            try connection.execute("insert into t values (1)")
                            proxy.behaviour = .cutAt("commit", afterServerAnswered: afterServerAnswered)
                        }
                    }
                }
                #expect(error.code == .commitInDoubt)
                #expect(!error.outcomeKnown && !error.connectionUsable && !error.isTransient)
            }
            // A caller, too, has to look in order to know.
            let count = try await database.withConnection { try $0.one("select count(*) from t", as: Int.self) }
            #expect(count == (afterServerAnswered ? 1 : 0))
        }
    }

    /// The server ended the transaction while the client was idle, and the client learns of that as it sends COMMIT.
    @Test func aTransactionThatWasEndedForItsSilenceIsNotInDoubt() async throws {
        try await TestDatabase.with(.empty) { database in
            let error = try await PostgresError.expected {
                try await database.withConnection { connection in
                    try await connection.transaction { connection in
                        try connection.execute("set local idle_in_transaction_session_timeout = 1")
                        // This blocks the connection's own thread, so that it does not read what the server sends.
                        let socket = Interest(try #require(connection.handle?.socket), .read)
                        while connection.thread.wait(for: socket, until: nil) == .woken {}
                    }
                }
            }
            #expect(error.code == .connectionLost && error.sqlState == .idleInTransactionSessionTimeout)
            #expect(error.outcomeKnown && !error.connectionUsable && error.isTransient)
        }
    }

    /// A process that was stopped meanwhile reads the answer, and the end of the session that came after it, at once.
    @Test func theEndOfASilentTransactionIsReadWithTheAnswerBeforeIt() async throws {
        try await TestDatabase.with(.empty) { database in
            try await TCPProxy.with(to: database.cluster.port) { proxy in
                let error = try await PostgresError.expected {
                    try await database.withConnection(through: proxy) { connection in
                        let session: Statement = "select from pg_stat_activity where pid = \(connection.backendPID)"
                        let letGo = Task {
                            try await database.withConnection(asAdministrator: true) { administrator in
                                try await eventually("the session ends", within: .seconds(120)) {
                                    try administrator.execute(session) == 0
                                }
                            }
                            proxy.behaviour = .forward
                        }
                        defer { letGo.cancel() }
                        try await connection.transaction { connection in
                            proxy.behaviour = .mutedAt("set local")
                            try connection.execute("set local idle_in_transaction_session_timeout = 1")
                        }
                    }
                }
                #expect(error.code == .connectionLost && error.sqlState == .idleInTransactionSessionTimeout)
                #expect(error.outcomeKnown && !error.connectionUsable && error.isTransient)
            }
        }
    }

    @Test func aConnectionLostBeforeCommitIsNotInDoubt() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.withConnection { try $0.execute("create table t (id int)") }
            try await TCPProxy.with(to: database.cluster.port) { proxy in
                let error = try await PostgresError.expected {
                    try await database.withConnection(through: proxy) { connection in
                        try await connection.transaction { connection in
                            try connection.execute("insert into t values (1)")
                            proxy.behaviour = .cutAt("insert", afterServerAnswered: true)
                            try connection.execute("insert into t values (2)")
                        }
                    }
                }
                #expect(error.code == .connectionLost)
            }
            #expect(try await database.withConnection { try $0.one("select count(*) from t", as: Int.self) } == 0)
        }
    }
}
