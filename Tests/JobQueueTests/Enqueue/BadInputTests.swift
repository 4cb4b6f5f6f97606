import Foundation
import Postgres
import Testing

@testable import JobQueue

/// Malformed input is refused before anything is sent, with an error that names the field.
@Suite(.timeLimit(.minutes(5))) struct BadInputTests {
    struct Note: Codable, Sendable, Equatable {
        var text: String
    }

    func field(_ make: () throws -> Void) -> String? {
        do {
            try make()
            return nil
        } catch let error as JobQueueError {
            #expect(error.code == .invalidField)
            #expect(error.message.hasPrefix(error.field ?? "?"))
            return error.field
        } catch {
            Issue.record(error)
            return nil
        }
    }

    @Test(arguments: ["", "A", "1a", "a b", "a\u{0}", "ä", "_a", "-", String(repeating: "a", count: 64), "a;drop"])
    func namesOutOfForm(_ name: String) {
        #expect(field { _ = try NewJob(kind: name, queue: "q") } == "kind")
        #expect(field { _ = try NewJob(kind: "k", queue: name) } == "queue")
        #expect(field { try JobKind<Note>(name).check() } == "kind")
        #expect(field { try JobKind<Note>("k", queue: name).check() } == "queue")
    }

    @Test func sizesAndRanges() {
        let large = Note(text: String(repeating: "x", count: 300_000))
        #expect(field { _ = try JobKind<Note>("k").job(large) } == "arguments")
        #expect(field { _ = try JobKind<Note>("k").job(Note(text: "\0")) } == "arguments")
        #expect(field { _ = try NewJob(kind: "k", queue: "q", arguments: .init(uncheckedJSON: "[]")) } == "arguments")
        #expect(field { _ = try NewJob(kind: "k", queue: "q", priority: 10) } == "priority")
        #expect(field { _ = try NewJob(kind: "k", queue: "q", priority: -1) } == "priority")
        #expect(field { _ = try NewJob(kind: "k", queue: "q", argumentsVersion: 0) } == "argumentsVersion")
        #expect(field { _ = try NewJob(kind: "k", queue: "q", uniqueKey: "") } == "uniqueKey")
        #expect(
            field { _ = try NewJob(kind: "k", queue: "q", limitKey: String(repeating: "k", count: 201)) } == "limitKey"
        )
        #expect(field { _ = try NewJob(kind: "k", queue: "q", maxAttempts: 0) } == "maxAttempts")
        #expect(
            field { _ = try NewJob(kind: "k", queue: "q", runAt: Date(timeIntervalSince1970: .infinity)) } == "runAt"
        )
        #expect(field { _ = try NewJob(kind: "k", queue: "q", runAt: Date(timeIntervalSince1970: 1e15)) } == "runAt")
        #expect(field { _ = try NewJob(kind: "k", queue: "q", runAt: Date(timeIntervalSince1970: -1)) } == "runAt")
    }

    /// What looks like an escaped NUL may be a backslash followed by five characters.
    @Test(arguments: [
        (#"{"a":"\u0000"}"#, false), (#"{"a":"\\\u0000"}"#, false), (#"{"\u0000":1}"#, false),
        (#"{"a":"\\u0000"}"#, true), (#"{"a":"\n\\u0000"}"#, true), (#"{"a":"u0000"}"#, true),
    ])
    func onlyANULIsOne(_ json: String, isTaken: Bool) async throws {
        let make = { @Sendable in try NewJob(kind: "k", queue: "q", arguments: .init(object: json)) }
        #expect(field { _ = try make() } == (isTaken ? nil : "arguments"))
        guard isTaken else { return }
        try await JobHarness.with { harness in
            try await harness.enqueue([make()])
            #expect(try await harness.count("select count(*) from accountctl.jobs where args = \(json)::jsonb") == 1)
        }
    }

    /// Numbers are stored as they are written, in digits and size.
    @Test(arguments: ["1234567890123456789012345678901234567890123456789", "1e200", "1e-200"])
    func numbersStayWhole(_ number: String) async throws {
        let json = #"{"n":[\#(number)]}"#
        try await JobHarness.with { harness in
            try await harness.enqueue([NewJob(kind: "k", queue: "q", arguments: .init(object: json))])
            #expect(try await harness.count("select count(*) from accountctl.jobs where args = \(json)::jsonb") == 1)
        }
    }

    /// Invalid JSON is refused however deep it is nested.
    @Test(arguments: [
        "not json", "[]", "{", #"{"a":"\x"}"#, #"{"a":["\ud800"]}"#, #"{"a":{"b":"\udc00"}}"#, #"{"a":01}"#,
        #"{"a":NaN}"#, "{\"a\":\"\t\"}",
    ])
    func textThatIsNoJSON(_ text: String) {
        #expect(field { _ = try JobDocument(object: text) } == "arguments")
    }

    /// Blanks around an object are part of JSON: a shell puts the text of an indented file in the place of the value,
    /// with the byte order mark that some editors write.
    @Test(arguments: [" {}", "\n{\"a\": 1}\n", "\r\n\t { }", "\u{FEFF}{}", "\u{FEFF}\r\n {\"a\": 1}"])
    func blanksAroundAnObject(_ text: String) {
        #expect(field { _ = try NewJob(kind: "k", queue: "q", arguments: .init(object: text)) } == nil)
    }

    /// Errors that only the server finds name the field too, whichever statement meets them.
    @Test func argumentsThatTheServerRefuses() async throws {
        try await JobHarness.with { harness in
            func job(_ json: String = "{}", uniqueKey: String? = nil) throws -> NewJob {
                try NewJob(kind: "k", queue: "q", arguments: .init(uncheckedJSON: json), uniqueKey: uniqueKey)
            }
            for json in [#"{"a":1,}"#, "{not json}", #"{"a":"\ud800"}"#] {
                let calls = try [
                    [job(json)], [job(), job(json)], [job(json, uniqueKey: "u")], [job(), job(json, uniqueKey: "u")],
                ]
                for jobs in calls {
                    let error = await #expect(throws: JobQueueError.self) { try await harness.enqueue(jobs) }
                    #expect(error?.field == "arguments")
                    let forgotten = await #expect(throws: JobQueueError.self) {
                        try await harness.pool.withConnection { connection in
                            try harness.queue.enqueueAndForget(jobs, on: connection)
                        }
                    }
                    #expect(forgotten?.field == "arguments")
                }
            }
            #expect(try await harness.unfinished() == 0)
        }
    }

    @Test(
        "A filter for exhausted jobs is refused with the states of ended jobs",
        arguments: [.completed, .cancelled, .discarded] as [JobState]
    )
    func exhaustedAndEnded(_ state: JobState) throws {
        var filter = JobFilter()
        filter.isExhausted = true
        for states in [[state], [.parked, state]] {
            filter.states = states
            #expect(field { try filter.check() } == "exhausted")
        }
        for live in [[], [JobState.available]] {
            filter.states = live
            try filter.check()
        }
    }

    @Test func kindsOutOfRange() {
        #expect(field { try JobKind<Note>("k", timeout: .zero).check() } == "timeout")
        #expect(field { try JobKind<Note>("k", timeout: .seconds(-5)).check() } == "timeout")
        #expect(field { try JobKind<Note>("k", timeout: .seconds(1e12)).check() } == "timeout")
        #expect(field { try JobKind<Note>("k", crashLimit: 0).check() } == "crashLimit")
        #expect(field { try JobKind<Note>("k", limits: .init(running: 0)).check() } == "limits.running")
        #expect(field { try JobKind<Note>("k", limits: .init(runningPerKey: -1)).check() } == "limits.runningPerKey")
        #expect(field { try JobKind<Note>("k", retry: .exponential(attempts: 0)).check() } == "retry.attempts")
        #expect(field { try JobKind<Note>("k", retry: .exponential(base: .zero)).check() } == "retry.base")
        #expect(field { try JobKind<Note>("k", retry: .exponential(factor: 0.5)).check() } == "retry.factor")
        #expect(field { try JobKind<Note>("k", retry: .exponential(cap: .zero)).check() } == "retry.cap")
        #expect(field { try JobKind<Note>("k", retry: .exponential(jitter: 2)).check() } == "retry.jitter")
    }

    @Test func argumentsOfOtherVersions() throws {
        struct Old: Codable { var note: String }
        let kind = JobKind<Note>(
            "k",
            version: 3,
            upcasts: [2: { try JobDocument(encoding: Note(text: try $0.decode(as: Old.self).note)) }]
        )
        #expect(try kind.decode(.init(uncheckedJSON: #"{"note":"a"}"#), version: 2) == Note(text: "a"))
        #expect(try kind.decode(.init(uncheckedJSON: #"{"text":"a"}"#), version: 3) == Note(text: "a"))
        for (json, version) in [
            (#"{"text":"a"}"#, 4), (#"{"secret":"s3cret"}"#, 3), (#"{"text":7}"#, 2), ("not json", 3),
        ] {
            let error = #expect(throws: JobQueueError.self) {
                try kind.decode(.init(uncheckedJSON: json), version: Int16(version))
            }
            #expect(error?.code == (version > 3 ? .newerArguments : .undecodableArguments))
            #expect(error?.message.contains("s3cret") == false)
        }
    }

    /// Bad arguments of an app's own SQL are refused by name, and never reach a claim.
    @Test(arguments: [
        ("run_at => '-infinity'", "run_at"), ("run_at => 'infinity'", "run_at"),
        ("run_at => '1969-12-31 23:59:59+00'", "run_at"), ("unique_key => ''", "unique_key"),
        ("limit_key => repeat('x', 201)", "limit_key"), ("args_version => 0::smallint", "args_version"),
        ("max_attempts => 0::smallint", "max_attempts"), ("priority => 10::smallint", "priority"),
    ])
    func enqueueJobNamesTheArgument(argument: String, name: String) async throws {
        try await JobHarness.with { harness in
            let error = await #expect(throws: PostgresError.self) {
                try await harness.pool.withConnection { connection in
                    try connection.one(
                        "select accountctl.enqueue_job('test.plain', \(unsafeSQL: argument))",
                        as: Int64.self
                    )
                }
            }
            #expect(error?.sqlState?.rawValue == "22023")
            #expect(error?.diagnostics?.column == name)
            let left = try await harness.unfinished()
            #expect(left == 0)
        }
    }

    /// Malformed jobs that somebody inserts without `enqueue_job` stop no worker.
    @Test func jobsOfNoFormStopNoWorker() async throws {
        try await JobHarness.with { harness in
            try await harness.execute(
                """
                alter table accountctl.jobs
                    drop constraint jobs_run_at_finite,
                    drop constraint jobs_priority_range,
                    drop constraint jobs_running_held
                """
            )
            try await harness.execute(
                """
                insert into accountctl.jobs (kind, queue, args, run_at, priority, state)
                select 'test.plain', 'default', '{"text": ""}', run_at::timestamptz, priority, state::accountctl.job_state
                from (
                    values
                        ('-infinity', 5, 'available'), ('infinity', 5, 'available'), ('-infinity', 5, 'scheduled'),
                        ('infinity', 5, 'scheduled'), ('now', 50, 'available'), ('now', -3, 'available'), ('now', 5, 'running'),
                        ('294270-01-01', 5, 'available')
                ) as given(run_at, priority, state)
                """
            )
            try await harness.execute(
                """
                insert into accountctl.jobs (kind, queue, args, attempt)
                values ('test.plain', 'default', '{"text": ""}', 32767)
                """
            )
            let before = try await harness.pool.withConnection { try harness.queue.figures(on: $0) }
            #expect(before.oldestReady["default"].map { $0 < 60 } == true)
            let registry = try harness.recording(JobKind<Note>("test.plain"))
            try await harness.withWorker(registry, { $0.leaseLifetime = .seconds(8) }) {
                try await harness.until { try await harness.unfinished() == 1 }
            }
            let effects = try await harness.effects()
            // The job with no attempt left went to the history without running.
            #expect(effects == 7)
        }
    }

    /// No worker waits for a session that has the row of such a job locked, and none computes with the job's time.
    @Test(.timeLimit(.minutes(5))) func jobsOfNoTimeThatSomebodyHoldsStopNoWorkersStart() async throws {
        try await JobHarness.with { harness in
            try await harness.execute("alter table accountctl.jobs drop constraint jobs_run_at_finite")
            try await harness.execute(
                """
                insert into accountctl.jobs (kind, queue, args, run_at, state, worker)
                values
                    ('test.plain', 'default', '{"text": ""}', '-infinity', 'scheduled', null),
                    ('test.plain', 'default', '{"text": ""}', '-infinity', 'running', 999999)
                """
            )
            let kind = JobKind<Note>("test.plain")
            let registry = try harness.recording(kind)
            try await harness.pool.withTransaction { connection in
                try connection.execute("select from accountctl.jobs for update")
                try await harness.enqueue([kind.job(Note(text: ""))])
                try await harness.withWorker(registry) {
                    try await harness.until { try await harness.finished("completed") == 1 }
                }
            }
            try await harness.withWorker(registry, { $0.leaseLifetime = .seconds(8) }) {
                try await harness.until { try await harness.unfinished() == 0 }
            }
            let effects = try await harness.effects()
            #expect(effects == 3)
        }
    }
}
