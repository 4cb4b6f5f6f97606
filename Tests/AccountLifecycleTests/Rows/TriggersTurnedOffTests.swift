import AccountLifecycle
import Postgres
import TestSupport
import Testing

/// Behind a transaction pooler, another client may have turned triggers off on a server process, and no session of ours
/// refuses it: rows would be deleted without those that cascade.
@Suite(.timeLimit(.minutes(5))) struct TriggersTurnedOffTests {
    private static var policy: DeletionPolicy {
        var policy = Stage.swift
        policy.batchRows = 100
        return policy
    }

    /// Triggers are off from a point on; given are the step that was finished last, and the posts that are left.
    @Test(
        arguments: [
            (.begun(.preflight), nil, 250),
            (.begun(.lockOut), "preflight", 250),
            (.between(.deleteRows), "delete_avatars", 150),
            (.middle(.deleteRows), "delete_avatars", 0),
            (.begun(.scrubAuth), "delete_rows", 0),
        ] as [(DeletionPoint, String?, Int)]
    )
    func noStepDeletesRowsWithoutTriggers(_ point: DeletionPoint, _ finished: String?, _ posts: Int) async throws {
        try await Stage.with { stage in
            let database = stage.database
            try await stage.createPosts()
            for statement in [
                "create function public.pass() returns trigger language plpgsql as $$ begin return old; end $$",
                // So that there is something to try before anybody is locked out.
                "create trigger pass before delete on public.posts for each row execute function public.pass()",
            ] as [Statement] { try await stage.sql(statement) }
            let person = try await stage.signUp()
            try await stage.addPosts(250, of: person)
            let request = try await stage.request(person)
            var own = PoolConfiguration(connection: database.configuration)
            own.connection.pooler = .transaction
            try await Pool.withPool(own, logger: .silent) { pool in
                let turnOff: DeletionProbe = once(at: point) {
                    let setting = "session_replication_role = replica"
                    try await database.psql("alter role postgres in database \(database.name) set \(setting)")
                    // The pool takes new connections, which have the setting.
                    try await database.psql(
                        """
                        select count(pg_terminate_backend(pid, 30000))
                        from pg_stat_activity
                        where datname = current_database()
                          and usename = 'postgres'
                        """
                    )
                }
                let driver = DeletionDriver(stage.services(Self.policy, pool: pool, probe: turnOff))
                let error = try await PostgresError.expected { try await driver.drive(request) }
                #expect(error.code == .configuration, "\(error)")
            }
            let last: Statement = """
                select max(step)
                from accountctl.deletion_steps
                where finished_at = (select max(finished_at) from accountctl.deletion_steps)
                """
            #expect(try await stage.value(last, as: String?.self) == finished)
            #expect(try await stage.count("select from public.posts") == posts)
        }
    }
}
