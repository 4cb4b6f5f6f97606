import AccountLifecycle
import TestSupport
import Testing

@Suite("The jobs commands", .timeLimit(.minutes(5)))
struct JobsCommandTests {
    func jobs(_ database: TestDatabase, _ words: [String]) async throws -> AccountctlProcess.Result {
        try await AccountctlProcess(["jobs"] + words, environment: database.variables).result()
    }

    /// Adds one unfinished job per state and some ended ones, and returns their ids by name.
    func fill(_ database: TestDatabase) async throws -> [String: Int] {
        let text = try await database.psql(
            """
            with made as (
                select state, accountctl.enqueue_job('test.kind', queue => 'mail', args => '{"n":1}') as id
                from unnest(array['available','running','parked','discarded','completed']) as state
            )
            select string_agg(state || '=' || id, ',') || ',scheduled='
                || accountctl.enqueue_job('test.kind', queue => 'mail', run_at => now() + interval '1 day')
            from made
            """
        )
        let pairs = text.split(separator: ",").map { $0.split(separator: "=") }
        let ids = Dictionary(uniqueKeysWithValues: pairs.map { (String($0[0]), Int($0[1]) ?? 0) })
        try await database.psql(
            """
            update accountctl.jobs set state = 'running', worker = 1, lease = 1, attempt = 1 where id = \(ids["running"] ?? 0);
            update accountctl.jobs
            set state = 'parked', parked_for = 'undecodable',
                errors = '[{"at":"2026-01-02T04:04:05.678901+01:00","attempt":1,"error":"text is missing"}]'
            where id = \(ids["parked"] ?? 0);
            with gone as (
                delete from accountctl.jobs where id in (\(ids["discarded"] ?? 0), \(ids["completed"] ?? 0)) returning *
            )
            insert into accountctl.job_history (
                id, lease, run_at, created_at, outcome, priority, attempt, crashes, args_version, queue, kind, args, reason
            )
            select id, lease, run_at, created_at,
                case id when \(ids["completed"] ?? 0) then 'completed' else 'discarded' end::accountctl.job_end,
                priority, attempt, crashes, args_version, queue, kind, args, 'for the test'
            from gone
            """
        )
        return ids
    }

    func state(_ database: TestDatabase, _ id: Int?) async throws -> String {
        try await database.psql(
            """
            select state::text from accountctl.jobs where id = \(id ?? 0)
            union all
            select outcome::text from accountctl.job_history where id = \(id ?? 0)
            """
        )
    }

    @Test(
        "A mistake in the words is named, and refused with exit code 2 before anything is done",
        arguments: [
            (["list", "--state", "sleeping"], "invalid for '--state"), (["show", "forty-two"], "id"),
            (["show", "--", "99999999999999999999"], "id"), (["retry", "--state", "gone"], "invalid for '--state"),
            (["cancel", "1", "--unique-key", "k", "--yes"], "name ids, or one job by --unique-key"),
            (["snooze", "--for", "1h"], "name ids, or one job by --unique-key"), (["cancel"], "ids"),
            (["discard", "1"], "--reason"), (["discard", "1", "--yes", "--reason", " "], "--reason is empty"),
            (["discard", "1", "--yes", "--reason", long], "--reason has 501 characters: at most 500"),
            (["cancel", "1", "--yes", "--reason", long], "--reason has 501 characters"),
            (["pause", "mail", "--yes", "--reason", long], "--reason has 501 characters"), (["pause"], "queue"),
            (["limit", "mail", "--count", "5", "--per", "60"], "error: --per must be a length of time such as"),
            (["limit", "mail", "--count", "5", "--per", "25h"], "--per must be whole seconds from 1s to 1d"),
            (["prune"], "--older-than"), (["prune", "--older-than=-1d"], "error: --older-than must be a length"),
            (["prune", "--older-than", "30"], "error: --older-than must be a length of time such as"),
            (["prune", "--older-than", "36h"], "error: --older-than must be whole days from 0 to 3650d"),
            (["snooze", "1"], "--for"), (["wach"], "Did you mean: accountctl jobs watch"),
        ]
    )
    func mistakes(_ words: [String], _ hint: String) throws {
        let mistake = try #require(CommandLineMistake(["jobs"] + words))
        #expect(mistake.status == 2)
        #expect(mistake.errors.contains(hint), "\(mistake.errors)")
    }

    private static let long = String(repeating: "ü", count: 501)

    @Test("Bad input is named, refused with exit code 2, and changes nothing")
    func badInput() async throws {
        try await TestDatabase.with(.migrated) { database in
            let id = try await fill(database)["available"] ?? 0
            let before = try await database.psql(
                "select md5(string_agg(j::text, ',' order by id)) from accountctl.jobs j"
            )
            let cases: [([String], String)] = [
                (["list", "--queue", "No Queue"], "error: --queue must"),
                (["list", "--kind=1kind"], "error: --kind must"),
                (["list", "--unique-key", ""], "error: --unique-key must"),
                (["list", "--limit", "0"], "error: --limit must"),
                (["list", "--limit=-3"], "error: --limit must"),
                (["list", "--json", "id,stat"], "Did you mean state?"),
                (["show"], "id"),
                (["retry"], "name ids, or --state"),
                (["retry", "\(id)", "--state", "parked"], "not both"),
                (["retry", "\(id)", "--queue", "q"], "not both"),
                (["retry", "\(id)", "--exhausted"], "not both"), (["retry", "\(id)", "--kind", "k"], "not both"),
                (["retry", "\(id)", "--limit", "1"], "not both"),
                (["retry", "\(id)", "--unique-key", "k"], "not both"),
                (["retry", "--unique-key", "k", "--queue", "mail"], "--unique-key alone"),
                (["retry", "--unique-key", ""], "error: --unique-key must"),
                (["show", "\(id)", "--unique-key", "k"], "name an id, or a job by --unique-key"),
                (["show", "--unique-key", ""], "error: --unique-key must"),
                (["cancel", "--unique-key", "", "--yes"], "error: --unique-key must"),
                (["pause", "Bad Queue", "--yes"], "error: queue must"),
                (["pause", "A", "--dry-run"], "error: queue must"),
                (["pause", "--yes", "--", "--queue"], "error: queue must"), (["resume", ""], "error: queue must"),
                (["limit", "mail"], "--count"), (["limit", "mail", "--count=-1"], "error: --count must"),
                (["limit", "mail", "--count", "0", "--dry-run"], "--count must be between 1 and"),
                (["limit", "--kind", "k", "--running", "2", "--per", "1m"], "--count and --per limit a queue"),
                (["limit", "mail", "--count", "5", "--none"], "--none"), (["limit", "--none"], "--kind"),
                (["limit", "mail", "--kind", "k", "--none"], "--kind"),
                (["limit", "mail", "--running", "2"], "--running"), (["limit", "--kind", "k"], "--running"),
                (["limit", "--kind", "k", "--running", "0"], "error: --running must"),
                (["limit", "--kind", "k", "--per-key=-2"], "error: --per-key must"),
                (["limit", "--kind", "K", "--running", "2"], "error: --kind must"),
                (["limit", "Mail", "--count", "2"], "error: queue must"),
                (["snooze", "\(id)", "--for", "soon"], "--for"), (["snooze", "\(id)", "--for=-5m"], "--for"),
                (["snooze", "\(id)", "--for", "9000d"], "error: --for must be between 0s and 3650d"),
                (["enqueue", "Kind"], "error: kind must"), (["enqueue", "k", "--queue", "a b"], "error: --queue must"),
                (["enqueue", "k", "--arguments", "not json"], "error: --arguments must"),
                (["enqueue", "k", "--arguments", "[1]"], "error: --arguments must"),
                (["enqueue", "k", "--arguments", "{\"a\":\"\\u0000\"}"], "arguments"),
                (
                    ["enqueue", "k", "--arguments", "{\"a\":\"\(String(repeating: "x", count: 100_000))\"}{"],
                    "arguments"
                ),
                (["enqueue", "k", "--arguments-version", "0"], "error: --arguments-version must"),
                (["enqueue", "mail.check", "--arguments-version", "2"], "--arguments-version must not exceed 1"),
                (["enqueue", "k", "--priority", "10"], "error: --priority must"),
                (["enqueue", "k", "--priority=-1"], "error: --priority must"),
                (["enqueue", "k", "--priority", "40000"], "error: --priority must be between 0 and 9"),
                (["enqueue", "k", "--in", "9000d"], "error: --in must be between"),
                (["enqueue", "k", "--unique-key", ""], "error: --unique-key must"),
                (["enqueue", "k", "--limit-key", ""], "error: --limit-key must"),
                (["enqueue", "k", "--max-attempts", "0"], "error: --max-attempts must"),
                (["enqueue", "k", "--max-attempts", "40000"], "error: --max-attempts must be between 1 and 32000"),
                (["watch", "--queue", "Bad Queue"], "error: --queue must"),
            ]
            for (words, hint) in cases {
                let result = try await jobs(database, words)
                #expect(result.status == 2, "\(words.joined(separator: " ").prefix(80)): \(result.errors)")
                #expect(result.output.isEmpty, "\(words.joined(separator: " ").prefix(80))")
                #expect(result.errors.contains(hint), "\(words.joined(separator: " ").prefix(80)): \(result.errors)")
            }
            // Refused before the database is queried, which would add a warning about an unknown kind.
            let tooLong = try await jobs(database, ["enqueue", "k", "--in", "9000d"])
            #expect(tooLong.errors.hasPrefix("error:"), "\(tooLong.errors)")
            let after = try await database.psql(
                "select md5(string_agg(j::text, ',' order by id)) from accountctl.jobs j"
            )
            #expect(after == before)
            #expect(try await database.psql("select count(*) from accountctl.queues") == "0")
            #expect(try await database.psql("select count(*) from accountctl.job_limits") == "0")
        }
    }

    @Test("Every kind of job that the sources declare is known with its queue")
    func kinds() throws {
        #expect(Set(AccountLifecycle.queues.keys) == (try ExampleTests.kinds()))
    }
}
