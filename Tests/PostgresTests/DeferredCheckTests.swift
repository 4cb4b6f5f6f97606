import Postgres
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct DeferredCheckTests {
    @Test func aCommitMayTakeAsLongAsTheStatementWhoseChecksItMakes() async throws {
        try await TestDatabase.with(.empty) { database in
            try await database.psql(
                """
                create table t (id int);
                create function slow() returns trigger language plpgsql as $$
                begin
                    perform pg_sleep(4);
                    return null;
                end
                $$;
                create constraint trigger slow after insert on t
                    deferrable initially deferred for each row execute function slow();
                """,
                user: "postgres"
            )
            var configuration = database.configuration
            configuration.statementDeadline = .seconds(3)
            try await Connection.with(configuration, logger: .silent) { connection in
                try await connection.transaction { connection in
                    try connection.execute("insert into t values (1)", deadline: .seconds(60))
                }
                let count = try connection.one("select count(*) from t", as: Int.self)
                #expect(count == 1)
                // The next transaction has the usual time again.
                let error = try await PostgresError.expected {
                    try await connection.transaction { connection in
                        try connection.execute("insert into t values (2)")
                    }
                }
                #expect(error.code == .deadlineExceeded)
            }
        }
    }
}
