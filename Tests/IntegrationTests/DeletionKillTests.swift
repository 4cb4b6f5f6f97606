import Foundation
import Sandbox
import TestSupport
import Testing

@Suite("Workers killed while they erase")
struct DeletionKillTests {
    private static let accounts = 30

    @Test(
        "Whatever SIGKILL interrupts, every account is erased once, and no bystander is touched",
        .timeLimit(.minutes(4))
    )
    func kills() async throws {
        try await TestDatabase.with(.migrated) { database in
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("kills-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            var configuration = SandboxConfiguration()
            configuration.storage = .init(
                conninfo: database.cluster.conninfo(database: database.name, user: "supabase_storage_admin"),
                folder: folder.appendingPathComponent("files").path
            )
            try await Sandbox.with(configuration) { sandbox in
                let variables = try await variables(database, sandbox, folder)
                try await database.psql(Self.fixture)
                let before = try await database.psql(Self.bystanders)
                // Kills at times that differ by much more than a step takes; the seed of a failure is printed with it.
                let seed = UInt64.random(in: 0 ... .max)
                var times = SplitMix(state: seed)
                for _ in 0..<6 {
                    let worker = try AccountctlProcess(["worker"], environment: variables)
                    guard try await worker.waitForErrors(containing: "worker registered") else {
                        Issue.record("a worker did not start: \(worker.errorsSoFar)")
                        return
                    }
                    try await Task.sleep(for: .milliseconds(Int(times.next() % 700)))
                    worker.signal(SIGKILL)
                    _ = try await worker.result()
                }
                var open = Self.accounts
                // What a dead worker held comes free when its lease ends.
                for _ in 0..<40 where open > 0 {
                    let worker = try await AccountctlProcess.run("worker", "--until-idle", environment: variables)
                    #expect(worker.status == 0, "\(worker.errors)")
                    let text = "select count(*) from accountctl.deletion_requests where finished_at is null"
                    open = Int(try await database.psql(text)) ?? -1
                    if open > 0 { try await Task.sleep(for: .milliseconds(500)) }
                }
                #expect(open == 0, "seed \(seed)")
                #expect(try await database.psql(Self.outcome) == "verified|\(Self.accounts)", "seed \(seed)")
                let receipts = "select count(*), count(distinct request_id) from accountctl.deletion_receipts"
                #expect(try await database.psql(receipts) == "\(Self.accounts)|\(Self.accounts)")
                #expect(try await database.psql("select count(*) from storage.objects") == "5")
                #expect(try await database.psql(Self.bystanders) == before, "seed \(seed)")
                let left = "select count(*) from auth.users where email like 'gone%'"
                #expect(try await database.psql(left) == "0")
            }
        }
    }

    private func variables(_ database: TestDatabase, _ sandbox: Sandbox, _ folder: URL) async throws -> [String: String]
    {
        var variables = database.variables
        var files = ["ACCOUNTCTL_STORAGE_SERVICE_KEY_FILE": sandbox.storage.keys.secretKey]
        files["ACCOUNTCTL_KEYS_SEALING_FILE"] = try await AccountctlProcess.run("keys", "new", "sealing").output
        files["ACCOUNTCTL_KEYS_HASH_FILE"] = try await AccountctlProcess.run("keys", "new", "hash").output
        for (name, text) in files {
            let path = folder.appendingPathComponent(name).path
            _ = FileManager.default.createFile(
                atPath: path,
                contents: Data(text.utf8),
                attributes: [.posixPermissions: 0o600]
            )
            variables[name] = path
        }
        variables["ACCOUNTCTL_STORAGE_URL"] = sandbox.storage.url
        variables["ACCOUNTCTL_DELETION_TOKEN_LIFE"] = "0s"
        variables["ACCOUNTCTL_DELETION_HOURLY_CEILING"] = "1000"
        variables["ACCOUNTCTL_WORKER_LEASE"] = "5s"
        return variables
    }

    /// Accounts with a profile and an object each, most of them to be erased.
    private static let fixture = """
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

    private static let outcome = "select state, count(*) from accountctl.deletion_requests group by state"
}

/// Random numbers that can be had again.
private struct SplitMix {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}
