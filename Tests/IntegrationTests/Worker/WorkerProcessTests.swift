import Foundation
import Postgres
import TestSupport
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("The worker as a process", .timeLimit(.minutes(5)))
struct WorkerProcessTests {
    private func withKeys(_ body: @Sendable ([String: String]) async throws -> Void) async throws {
        let keys = try TestKeys.make()
        defer { keys.remove() }
        try await body(keys.variables)
    }

    @Test("Ends by itself when idle, and with status 0 when asked")
    func ends() async throws {
        try await withKeys { keys in
            try await TestDatabase.with(.migrated) { database in
                let variables = database.variables.merging(keys) { $1 }
                let idle = try await AccountctlProcess.run("worker", "--until-idle", environment: variables)
                #expect(idle.status == 0, "\(idle.errors)")
                let service = try AccountctlProcess(["worker"], environment: variables)
                #expect(try await service.waitForErrors(containing: "worker registered"))
                service.signal(SIGTERM)
                #expect(try await service.result().status == 0)
                let stopped = "select count(*) from accountctl.worker_status where status = 'shutdown'"
                #expect(try await database.psql(stopped) == "2")
                // It can be asked to stop as soon as it says that it has started.
                let early = try AccountctlProcess(["worker"], environment: variables)
                #expect(try await early.waitForErrors(containing: #""message":"started""#))
                early.signal(SIGTERM)
                #expect(try await early.result().status == 0)
            }
        }
    }

    @Test("A hang-up of the terminal ends it as well, unless it was started to survive that")
    func hangUp() async throws {
        try await withKeys { keys in
            try await TestDatabase.with(.migrated) { database in
                let variables = database.variables.merging(keys) { $1 }
                // The tests may have been started by nohup themselves, which a child would inherit.
                let inherited = signal(SIGHUP, SIG_DFL)
                let started = Result { try AccountctlProcess(["worker"], environment: variables) }
                signal(SIGHUP, inherited)
                let worker = try started.get()
                #expect(try await worker.waitForErrors(containing: "worker registered"))
                worker.signal(SIGHUP)
                let ended = try await worker.result()
                #expect(ended.status == 0 && ended.errors.contains("SIGHUP"), "\(ended)")
                // Ignores SIGHUP, as nohup does.
                let lasting = try AccountctlProcess(
                    ["-c", #"trap "" HUP; exec "$0" worker"#, AccountctlProcess.path],
                    environment: variables,
                    program: "/bin/sh"
                )
                #expect(try await lasting.waitForErrors(containing: "worker registered"))
                lasting.signal(SIGHUP)
                lasting.signal(SIGTERM)
                let stopped = try await lasting.result()
                #expect(stopped.status == 0 && !stopped.errors.contains("SIGHUP"), "\(stopped)")
            }
        }
    }

    @Test("A database that is away is reported at once, not when the worker gives up")
    func databaseAway() async throws {
        try await withKeys { keys in
            try await ClosedPort.with { port in
                let place = ["PGHOST": "127.0.0.1", "PGPORT": "\(port)", "PGUSER": "postgres", "PGDATABASE": "none"]
                let worker = try AccountctlProcess(["worker"], environment: keys.merging(place) { $1 })
                #expect(try await worker.waitForErrors(containing: "could not connect to the database"))
                #expect(worker.isRunning)
                worker.signal(SIGKILL)
                let errors = try await worker.result().errors
                #expect(errors.ranges(of: "could not connect").count == 1, "\(errors)")
            }
        }
    }

    @Test("An address at which it cannot listen is reported with the setting that names it")
    func addresses() async throws {
        try await withKeys { keys in
            try await TestDatabase.with(.migrated) { database in
                try await DeafServer.with { port in
                    let taken = "127.0.0.1:\(port)"
                    for (address, status, said) in [
                        (taken, 75, "is in use"), ("192.0.2.1:9090", 2, "is not one of"),
                        ("nohost.invalid:9090", 2, "names a host that has no address"),
                    ] {
                        let admin = ["ACCOUNTCTL_LISTEN_ADMIN": address]
                        let variables = database.variables.merging(keys) { $1 }.merging(admin) { $1 }
                        let result = try await AccountctlProcess.run("serve", environment: variables)
                        #expect(result.status == status, "\(result)")
                        let line = result.errors.split(separator: "\n").last { $0.hasPrefix("error: ") } ?? ""
                        #expect(line.contains("listen.admin: \(address) \(said)"), "\(result.errors)")
                    }
                }
            }
        }
    }

    @Test("If one of two addresses cannot be bound, nothing else is reported", arguments: ["serve", "worker"])
    func oneOfTwoAddresses(_ command: String) async throws {
        try await AppleProgram.with { program in
            try await DeafServer.with { port in
                let (taken, free) = ("127.0.0.1:\(port)", "127.0.0.1:0")
                let (admin, notifications) = ("listen.admin", "listen.public")
                for (key, places) in [(admin, (taken, free)), (notifications, (free, taken))] {
                    var variables = program.variables
                    variables["ACCOUNTCTL_LISTEN_ADMIN"] = places.0
                    variables["ACCOUNTCTL_LISTEN_PUBLIC"] = places.1
                    let result = try await AccountctlProcess.run(command, environment: variables)
                    #expect(result.status == 75 && result.output.isEmpty, "\(result)")
                    let lines = result.errors.split(separator: "\n")
                    #expect(lines.first == "error: \(key): \(taken) is in use by another process", "\(result.errors)")
                    // The other line says what to do.
                    #expect(lines.count == 2, "\(result.errors)")
                }
            }
        }
    }

    @Test("Drops the days of its history that are past worker.retention", arguments: ["1d", "30d"])
    func retention(_ retention: String) async throws {
        try await withKeys { keys in
            try await TestDatabase.with(.migrated) { database in
                let day = try await database.psql("select to_char(current_date - 5, 'YYYYMMDD')")
                try await database.psql("select accountctl.prepare_job_history('\(day)', 1)")
                var variables = database.variables.merging(keys) { $1 }
                variables["ACCOUNTCTL_WORKER_RETENTION"] = retention
                let idle = try await AccountctlProcess.run("worker", "--until-idle", environment: variables)
                #expect(idle.status == 0, "\(idle.errors)")
                let days = try await database.psql("select count(*) from pg_class where relname = 'job_history_\(day)'")
                #expect(days == (retention == "1d" ? "0" : "1"))
            }
        }
    }

    @Test("Asked to stop without its database, it ends, and reports what it could not write")
    func endsWithoutItsDatabase() async throws {
        try await withKeys { keys in
            try await TestCluster.with { cluster in
                try await TestDatabase.with(.migrated, in: cluster) { database in
                    // It has the key of the schedule's jobs, and no other queue is served: a minute that begins during
                    // the test adds no second job to those that are lost.
                    try await database.psql(
                        """
                        insert into accountctl.queues (name, paused_at) values ('apple', now()), ('deletions', now());
                        select accountctl.enqueue_job('mail.schedule', queue => 'mail', unique_key => 'mail.schedule')
                        """
                    )
                    // A lock holds the job up, so that it ends when there is no database to write its outcome to.
                    async let lock = database.psql(
                        "begin; lock table accountctl.mail_streams in access exclusive mode; select pg_sleep(100)"
                    )
                    let held = """
                        select count(*)
                        from pg_locks
                        where relation = 'accountctl.mail_streams'::regclass
                        and mode = 'AccessExclusiveLock'
                        and granted
                        """
                    try await eventually("the table is locked") { try await database.psql(held) != "0" }
                    var variables = database.variables.merging(keys) { $1 }
                    variables["ACCOUNTCTL_WORKER_SHUTDOWN_TIMEOUT"] = "1s"
                    let worker = try AccountctlProcess(["worker"], environment: variables)
                    // The job has to wait, and not only the query of the streams' state, which reads the table, too.
                    let waiting = """
                        select count(*)
                        from pg_stat_activity
                        where wait_event_type = 'Lock'
                        and query like '%where next_check_at <= now()%'
                        and pid <> pg_backend_pid()
                        """
                    try await eventually("the job waits for it") { try await database.psql(waiting) != "0" }
                    try await cluster.stop(mode: "immediate")
                    _ = try? await lock
                    worker.signal(SIGTERM)
                    let result = try await worker.result(within: .seconds(20))
                    #expect(result.status == 75, "\(result.errors)")
                    #expect(result.errors.contains("outcomes could not be written"), "\(result.errors)")
                    #expect(result.errors.contains("\"jobs\":\"1\""), "\(result.errors)")
                }
            }
        }
    }

    /// A process with an admin listener, and a request that asks it to wake workers.
    private func serving(_ database: TestDatabase) async throws -> (process: AccountctlProcess, wake: URLRequest) {
        let variables = database.variables.merging(["ACCOUNTCTL_LISTEN_ADMIN": "127.0.0.1:0"]) { $1 }
        let serve = try AccountctlProcess(["serve"], environment: variables)
        do {
            #expect(try await serve.waitForErrors(containing: "admin listener started"))
            let port = try #require(serve.errorsSoFar.firstMatch(of: /"port":"(\d+)"/)?.1)
            var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(port)/wake")))
            request.httpMethod = "POST"
            return (serve, request)
        } catch {
            serve.signal(SIGKILL)
            throw error
        }
    }

    @Test("POST /wake reaches workers, even in a database where no queue was ever set up")
    func wakes() async throws {
        try await TestDatabase.with(.migrated) { database in
            let (serve, wake) = try await serving(database)
            defer { serve.signal(SIGKILL) }
            let notes = ["accountctl_jobs"]
            try await Listener.with(database.configuration, channels: notes, logger: .silent) { events in
                for await event in events {
                    switch event {
                    case .listening: #expect(try await URLSession.shared.data(for: wake).0.isEmpty == false)
                    case .notification: return
                    case .lost(let error), .unavailable(let error): throw error
                    }
                }
                try Task.checkCancellation()
            }
        }
    }

    /// Notifications are limited, since each one takes a lock for the whole cluster.
    @Test("However often POST /wake comes, workers are notified only some times a second")
    func manyWakes() async throws {
        try await TestDatabase.with(.migrated) { database in
            let (serve, wake) = try await serving(database)
            defer { serve.signal(SIGKILL) }
            // Each wake-up notifies for three queues: apple, deletions and mail.
            let (wakes, queues) = (300, 3)
            let start = ContinuousClock.now
            let heard = try await database.heard(on: "accountctl_jobs") {
                for _ in 0..<wakes { _ = try await URLSession.shared.data(for: wake) }
            }.count
            // The bound depends on the time taken, since requests may be slow: each interval notifies at once for
            // the first wake-up, and once more for those that were held back.
            let intervals = (ContinuousClock.now - start) / .milliseconds(100)
            let most = Double(queues) * (intervals * 2 + 4)
            #expect(heard > 0 && heard < queues * wakes, "\(heard)")
            #expect(Double(heard) <= most, "\(heard) in \(intervals) intervals")
        }
    }

    @Test("Without keys, without the schema or with wrong settings it does not start, and says why")
    func refuses() async throws {
        try await withKeys { keys in
            try await TestDatabase.with(.platform) { database in
                let missing = try await AccountctlProcess.run(
                    "worker",
                    environment: database.variables.merging(keys) { $1 }
                )
                #expect(missing.status == 1)
                #expect(missing.errors.contains("accountctl migrate up"))
            }
            try await TestDatabase.with(.migrated) { database in
                let keyless = try await AccountctlProcess.run("worker", environment: database.variables)
                #expect(keyless.status == 2)
                for key in ["sealing", "hash"] {
                    #expect(keyless.errors.contains("\n  keys.\(key)_file: missing: "), "\(keyless.errors)")
                }
                let wrongAndKeyless = try await AccountctlProcess.run(
                    "worker",
                    environment: database.variables.merging(["ACCOUNTCTL_DELETION_GRACE": "soon"]) { $1 }
                )
                for key in ["deletion.grace", "keys.sealing_file", "keys.hash_file", "accountctl config check"] {
                    #expect(wrongAndKeyless.errors.contains(key), "\(wrongAndKeyless.errors)")
                }
                let same = [
                    "ACCOUNTCTL_KEYS_SEALING_FILE": keys["ACCOUNTCTL_KEYS_HASH_FILE"] ?? "",
                    "ACCOUNTCTL_KEYS_HASH_FILE": keys["ACCOUNTCTL_KEYS_HASH_FILE"] ?? "",
                ]
                let twice = try await AccountctlProcess.run(
                    "worker",
                    environment: database.variables.merging(same) { $1 }
                )
                #expect(twice.status == 2)
                #expect(twice.errors.contains("the same key"))
                let wrong = database.variables.merging(keys) { $1 }.merging(["ACCOUNTCTL_DELETION_GRACE": "soon"]) {
                    $1
                }
                let settings = try await AccountctlProcess.run("worker", environment: wrong)
                #expect(settings.status == 2)
                #expect(settings.errors.contains("deletion.grace"))
            }
        }
    }
}
