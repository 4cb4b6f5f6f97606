import Foundation
import Sandbox
import TestSupport
import Testing

/// A database with accounts that asked to be erased and some that stay, a Storage, and the settings for workers.
struct ErasureSite: Sendable {
    let database: TestDatabase
    let sandbox: Sandbox
    let variables: [String: String]
    let accounts: Int
    /// A hash over the rows of the accounts that stay, from before the test ran.
    private let bystanders: String

    static func with(
        accounts: Int,
        in cluster: TestCluster? = nil,
        _ body: @Sendable (ErasureSite) async throws -> Void
    ) async throws {
        try await TestDatabase.with(.migrated, in: cluster) { database in
            let folder = try TemporaryFolder("erasure").url
            defer { try? FileManager.default.removeItem(at: folder) }
            let files = folder.appendingPathComponent("files").path
            try await Sandbox.with(SandboxConfiguration(storageOf: database, files: files)) { sandbox in
                try await database.psql(fixture(accounts))
                try await body(
                    ErasureSite(
                        database: database,
                        sandbox: sandbox,
                        variables: try await variables(database, sandbox, folder),
                        accounts: accounts,
                        bystanders: try await database.psql(Self.bystanders)
                    )
                )
            }
        }
    }

    /// Runs a worker while `body` runs, which may end it; the worker is killed if `body` throws.
    func withWorker(_ settings: [String: String] = [:], _ body: (AccountctlProcess) async throws -> Void) async throws {
        // Two at once, so that a fault comes while some deletions have not begun.
        let few = ["ACCOUNTCTL_WORKER_CONCURRENCY": "2"]
        let environment = variables.merging(few) { $1 }.merging(settings) { $1 }
        let worker = try AccountctlProcess(["worker"], environment: environment)
        do {
            guard try await worker.waitForErrors(containing: "worker registered") else {
                throw TestSupportError("a worker did not start: \(worker.errorsSoFar)")
            }
            try await body(worker)
        } catch {
            worker.signal(SIGKILL)
            throw error
        }
    }

    /// Makes workers block in the middle of a deletion, after some accounts were erased, until the gate is opened.
    func holdInTheMiddle() -> FaultGate {
        let gate = FaultGate()
        sandbox.faults.set(.hold(at: gate).times(.max, after: 5), for: .storageDeleteMany)
        return gate
    }

    /// How many requests are open.
    func open() async throws -> Int {
        let text = "select count(*) from accountctl.deletion_requests where finished_at is null"
        return Int(try await database.psql(text)) ?? -1
    }

    /// Waits until at most `limit` requests are open, while a worker runs, and makes its retries due at once.
    ///
    /// Polls, since the worker is another process, and ignores failed queries, since the server may be down at times.
    func wait(untilOpenAtMost limit: Int) async throws {
        let nudge = """
            update accountctl.jobs
            set run_at = clock_timestamp()
            where state = 'scheduled' and queue = 'deletions'
            """
        try await eventually(
            "at most \(limit) requests are open",
            within: .seconds(240),
            every: .milliseconds(100)
        ) {
            if let open = try? await open(), open <= limit { return true }
            _ = try? await database.psql(nudge)
            return false
        }
    }

    /// Waits, while no worker runs, until a job is due or the lease of a dead worker expires, by the database's times.
    func waitForTheNextTry() async throws {
        try await database.psql(
            """
            select pg_sleep(greatest(0, extract(epoch from min(at) - clock_timestamp())))
            from (
                select run_at from accountctl.jobs where kind = 'account.delete' and state = 'scheduled'
                union all
                select expires_at from accountctl.workers where stopped_at is null
            ) as next(at)
            """
        )
    }

    /// Expects that each account to be erased was erased once, with a receipt, and that no other account lost anything.
    func expectAllErased(_ comment: Comment? = nil) async throws {
        let outcome = "select state, count(*) from accountctl.deletion_requests group by state"
        #expect(try await database.psql(outcome) == "verified|\(accounts)", comment)
        let receipts = "select count(*), count(distinct request_id) from accountctl.deletion_receipts"
        #expect(try await database.psql(receipts) == "\(accounts)|\(accounts)", comment)
        #expect(try await database.psql("select count(*) from storage.objects") == "5", comment)
        #expect(try await database.psql(Self.bystanders) == bystanders, comment)
        let left = "select count(*) from auth.users where email like 'gone%'"
        #expect(try await database.psql(left) == "0", comment)
    }

    private static func variables(
        _ database: TestDatabase,
        _ sandbox: Sandbox,
        _ folder: URL
    ) async throws -> [String: String] {
        var variables = database.variables.merging(try TestKeys.make(in: folder).variables) { $1 }
        variables["ACCOUNTCTL_STORAGE_SERVICE_KEY_FILE"] = try SecretFile.write(
            sandbox.storage.keys.secretKey,
            to: folder.appendingPathComponent("storage")
        )
        variables["ACCOUNTCTL_STORAGE_URL"] = sandbox.storage.url
        variables["ACCOUNTCTL_DELETION_TOKEN_LIFE"] = "0s"
        variables["ACCOUNTCTL_DELETION_UPLOAD_LIFE"] = "0s"
        variables["ACCOUNTCTL_DELETION_HOURLY_CEILING"] = "1000"
        variables["ACCOUNTCTL_WORKER_LEASE"] = "5s"
        // Well below the lease: a worker that begins a call has to hold the account for as long as the call may take.
        variables["ACCOUNTCTL_STORAGE_TIMEOUT"] = "2s"
        variables["ACCOUNTCTL_APPLE_TIMEOUT"] = "1s"
        return variables
    }

    /// Accounts with a profile and an object each: `accounts` of them to be erased, and five that stay.
    private static func fixture(_ accounts: Int) -> String {
        """
        insert into auth.users (instance_id, id, aud, role, email, created_at)
        select '00000000-0000-0000-0000-000000000000', gen_random_uuid(), 'authenticated', 'authenticated',
            case when g <= \(accounts) then 'gone' else 'stays' end || g || '@example.com', now()
        from generate_series(1, \(accounts + 5)) as g;
        insert into auth.sessions (id, user_id) select gen_random_uuid(), id from auth.users;
        insert into storage.objects (bucket_id, name, owner, owner_id)
        select 'avatars', gen_random_uuid() || '.jpeg', id, id::text from auth.users;
        select accountctl.open_deletion_request(id, 'operator', null, '0 seconds')
        from auth.users
        where email like 'gone%';
        """
    }

    private static let bystanders = """
        select md5(string_agg(r, ',' order by r))
        from (
            select u::text as r from auth.users as u where email like 'stays%'
            union all
            select p::text from public.profiles as p where id in (select id from auth.users where email like 'stays%')
            union all
            select s::text from auth.sessions as s where user_id in (select id from auth.users where email like 'stays%')
            union all
            select name from storage.objects where owner in (select id from auth.users where email like 'stays%')
        ) as rows
        """
}
