import Foundation
import JobQueue
import Logging
import Postgres
import TestSupport
import Testing

@Suite("jobs watch", .timeLimit(.minutes(5)))
struct JobsWatchTests {
    @Test("watch goes on by itself after its sessions were terminated and the server was restarted")
    func watch() async throws {
        try await TestCluster.with { cluster in
            try await TestDatabase.with(.migrated, in: cluster) { database in
                let watch = try AccountctlProcess(
                    ["jobs", "watch", "--queue", "mail", "--format", "ndjson"],
                    environment: database.variables
                )
                func seen(_ kind: String) async throws {
                    let isThere = try await watch.waitForOutput(containing: "\"kind\":\"\(kind)\"")
                    try #require(isThere, "\(watch.errorsSoFar)")
                }
                func add(_ kind: String) async throws {
                    try await database.psql("select accountctl.enqueue_job('\(kind)', queue => 'mail')")
                }
                // Once it listens, it notices every change from now on.
                try await database.waitUntilSomebodyListens()
                try await add("first")
                try await seen("first")
                try await database.psql(
                    """
                    select pg_terminate_backend(pid)
                    from pg_stat_activity
                    where usename = 'postgres' and datname = current_database()
                    """
                )
                try await add("second")
                try await seen("second")
                try await cluster.restart(mode: "immediate")
                try await add("third")
                try await seen("third")
                // Not SIGINT: tests that run in the background have it ignored, and the program would inherit that.
                watch.signal(SIGTERM)
                let result = try await watch.result()
                #expect(result.status == -SIGTERM)
                let lines = result.output.split(separator: "\n")
                #expect(lines.count == 3, "each once: \(lines)")
            }
        }
    }

    @Test("A job is shown when it starts, is to be retried, is snoozed and ends, however long it ran")
    func follows() async throws {
        struct Refused: Error {}
        enum Word { case fail, wait, complete }
        try await TestDatabase.with(.migrated) { database in
            try await database.withPool(maximumConnections: 6, sessionSettings: JobQueue.controlSettings) { pool in
                let kind = JobKind<[String: String]>(
                    "test.slow",
                    queue: "mail",
                    retry: .exponential(attempts: 5, base: .seconds(600))
                )
                // Each attempt ends as the test says.
                let (verdicts, say) = AsyncStream.makeStream(of: Word.self)
                var registry = JobRegistry()
                try registry.register(kind) { _, context in
                    for await verdict in verdicts {
                        switch verdict {
                        case .fail: throw Refused()
                        case .wait: return .snooze(until: context.now.addingTimeInterval(3600))
                        case .complete: return .completed()
                        }
                    }
                    return .completed()
                }
                var configuration = WorkerConfiguration(name: "test")
                configuration.pollInterval = .milliseconds(50)
                let worker = try Worker(
                    queue: JobQueue(),
                    pool: pool,
                    listener: nil,
                    registry: registry,
                    configuration: configuration,
                    logger: .silent
                )
                try await runBeside([worker], run: { try await $0.run() }) {
                    let watch = try AccountctlProcess(
                        ["jobs", "watch", "--queue", "mail", "--json", "state,attempt,reason"],
                        environment: database.variables
                    )
                    try await database.waitUntilSomebodyListens()
                    func seen(_ state: String, times: Int = 1) async throws {
                        let isThere = try await watch.waitForOutput { text in
                            text.split(separator: "\n").count(where: { $0.contains("\"\(state)\"") }) >= times
                        }
                        if !isThere { throw TestSupportError("no job is \(state): \(watch.errorsSoFar)") }
                    }
                    let id = try await database.psql("select accountctl.enqueue_job('test.slow', queue => 'mail')")
                    try await seen("running")
                    // Makes it look as if the job had run for longer than the watch looks back.
                    func runLong() async throws {
                        try await database.psql(
                            """
                            update accountctl.jobs
                            set created_at = created_at - interval '1 hour',
                                run_at = run_at - interval '1 hour',
                                claimed_at = claimed_at - interval '1 hour',
                                errors = jsonb_set(errors, '{0,at}', to_jsonb(now() - interval '1 hour'))
                            """
                        )
                    }
                    func act(_ words: String...) async throws {
                        let result = try await AccountctlProcess(["jobs"] + words, environment: database.variables)
                            .result()
                        #expect(result.status == 0, "\(words): \(result.errors)")
                    }
                    try await runLong()
                    say.yield(.fail)
                    try await seen("scheduled")
                    // A retry resets the attempts: the next one has the number of the first.
                    try await act("retry", id)
                    try await seen("running", times: 2)
                    try await runLong()
                    say.yield(.wait)
                    try await seen("scheduled", times: 2)
                    try await act("snooze", id, "--for", "2h")
                    try await seen("scheduled", times: 3)
                    try await act("retry", id)
                    try await seen("running", times: 3)
                    say.yield(.complete)
                    try await seen("completed")
                    watch.signal(SIGTERM)
                    let lines = try await watch.result().output.split(separator: "\n")
                    // Whether the watch sees a job before a worker claims it depends on timing.
                    let told = lines.filter { !$0.contains("available") }
                    // A job that is snoozed gets its attempt back.
                    let attempts = told.map { $0.contains("\"attempt\":1") }
                    #expect(attempts == [true, true, true, false, false, true, true], "\(lines)")
                }
            }
        }
    }

    @Test("A job that is told to stop is shown with the reason, and one that is run again is shown, too")
    func told() async throws {
        try await TestDatabase.with(.migrated) { database in
            let ids = try await database.psql(
                """
                with made as (
                    insert into accountctl.jobs (queue, kind, state, worker, lease, created_at, run_at, claimed_at, parked_for)
                    select 'mail', 'test.kind', state::accountctl.job_state, worker, 1, now() - interval '1 hour',
                        now() - interval '1 hour', now() - interval '1 hour', reason
                    from (values ('running', 1, null), ('parked', null, 'operator')) as made(state, worker, reason)
                    returning id
                )
                select string_agg(id::text, ' ' order by id) from made
                """
            )
            .split(separator: " ").map(String.init)
            try #require(ids.count == 2)
            let watch = try AccountctlProcess(
                ["jobs", "watch", "--json", "id,state,reason"],
                environment: database.variables
            )
            try await database.waitUntilSomebodyListens()
            for words in [["cancel", ids[0], "--reason", "enough", "--yes"], ["retry", ids[1]]] {
                let result = try await AccountctlProcess(["jobs"] + words, environment: database.variables).result()
                #expect(result.status == 0, "\(words): \(result.errors)")
            }
            for (id, rest) in zip(ids, [#""reason":"enough","state":"running"#, #""reason":null,"state":"available"#]) {
                let isThere = try await watch.waitForOutput(containing: #"{"id":\#(id),\#(rest)"}"#)
                #expect(isThere, "\(rest): \(watch.errorsSoFar)")
            }
            watch.signal(SIGTERM)
            let lines = try await watch.result().output.split(separator: "\n")
            #expect(lines.count == 2, "each once: \(lines)")
        }
    }

    @Test("With --json each line is an object, and watch ends when its reader has gone, even if nothing happens")
    func readerGoes() async throws {
        try await TestDatabase.with(.migrated) { database in
            let pipe = Pipe.closedOnExec()
            let watch = try AccountctlProcess(
                ["jobs", "watch", "--json", "kind"],
                environment: database.variables,
                output: pipe.fileHandleForWriting
            )
            try pipe.fileHandleForWriting.close()
            try await database.waitUntilSomebodyListens()
            try await database.psql("select accountctl.enqueue_job('first')")
            let line = pipe.fileHandleForReading.availableData
            #expect(String(decoding: line, as: UTF8.self) == "{\"kind\":\"first\"}\n")
            try pipe.fileHandleForReading.close()
            #expect(try await watch.result(within: .seconds(30)).status == 141)
        }
    }

    @Test("watch ends when its reader has gone, even while the database is away")
    func readerGoesMeanwhile() async throws {
        try await TestDatabase.with(.migrated) { database in
            try await TCPProxy.with(to: database.cluster.port) { proxy in
                let pipe = Pipe.closedOnExec()
                let watch = try AccountctlProcess(
                    [
                        "jobs", "watch", "--json", "kind", "--log-level", "debug",
                        "--database-url", database.conninfo(port: proxy.port),
                    ],
                    output: pipe.fileHandleForWriting
                )
                try pipe.fileHandleForWriting.close()
                try await database.waitUntilSomebodyListens()
                proxy.behaviour = .cut
                #expect(try await watch.waitForErrors(containing: "the listening connection failed"))
                try pipe.fileHandleForReading.close()
                // Sooner than the attempt to connect is given up.
                #expect(try await watch.result(within: .seconds(15)).status == 141)
            }
        }
    }

    @Test("A lost database is reported at once, not when the wait for a connection is over")
    func databaseGoes() async throws {
        try await TestCluster.with { cluster in
            try await TestDatabase.with(.migrated, in: cluster) { database in
                let watch = try AccountctlProcess(["jobs", "watch"], environment: database.variables)
                try await database.waitUntilSomebodyListens()
                try await database.psql("select accountctl.enqueue_job('first')")
                try #require(try await watch.waitForOutput(containing: "first"))
                try await cluster.stop(mode: "immediate")
                let began = ContinuousClock.now
                #expect(try await watch.waitForErrors(containing: "the database cannot be reached"))
                #expect(ContinuousClock.now - began < .seconds(15))
                try await cluster.start()
                #expect(try await watch.waitForErrors(containing: "the database can be reached again"))
                watch.signal(SIGTERM)
                _ = try await watch.result()
            }
        }
    }

    @Test("However much changes at once, nothing is left out, and the filter applies before the limit")
    func manyChanges() async throws {
        try await TestDatabase.with(.migrated) { database in
            let watch = try AccountctlProcess(
                ["jobs", "watch", "--queue", "mail", "--format", "ndjson"],
                environment: database.variables
            )
            try await database.waitUntilSomebodyListens()
            try await database.psql(
                """
                select accountctl.enqueue_job('first', queue => 'mail') from generate_series(1, 2500);
                select accountctl.enqueue_job('noise', queue => 'other') from generate_series(1, 2500);
                select accountctl.enqueue_job('last', queue => 'mail');
                """
            )
            #expect(try await watch.waitForOutput(containing: #""kind":"last""#))
            watch.signal(SIGTERM)
            let lines = try await watch.result().output.split(separator: "\n")
            #expect(lines.count == 2501)
            #expect(!lines.contains { $0.contains("noise") })
        }
    }
}
