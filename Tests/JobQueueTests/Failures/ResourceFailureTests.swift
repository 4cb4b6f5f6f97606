import Foundation
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import JobQueue

/// The server answers with an error: its disk is full, a lock cannot be had, a statement takes too long.
@Suite(.timeLimit(.minutes(8))) struct ResourceFailureTests {
    /// Whether this process may mount a small disk, as it may in a container or as root.
    static let mayMount: Bool = {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("mount-\(UUID().uuidString)").path
        try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        guard Self.run("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", folder]) else { return false }
        return Self.run("umount", [folder])
    }()

    private static func run(_ command: String, _ arguments: [String]) -> Bool {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [command] + arguments
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }

    /// Runs `body` with the job table and its history on a disk of a few megabytes.
    private func withSmallDisk(_ body: @Sendable (JobHarness) async throws -> Void) async throws {
        let folder = try TemporaryFolder("disk")
        defer { folder.remove() }
        try await TestCluster.command(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", folder.path])
        defer { _ = Self.run("umount", ["-l", folder.path]) }
        try await folder.giveToServerUser()
        try await TestCluster.with { cluster in
            try await JobHarness.with(in: cluster) { harness in
                try await harness.database.psql("create tablespace small location '\(folder.path)'")
                try await harness.database.psql(
                    """
                    do $$
                    declare
                        item text;
                    begin
                        for item in
                            select format('%s %s', case relkind when 'r' then 'table' else 'index' end, oid::regclass)
                            from pg_class
                            where relnamespace = 'accountctl'::regnamespace
                            and relname ~ '^(jobs|job_history_[0-9]+)'
                            and relkind in ('r', 'i')
                        loop
                            execute format('alter %s set tablespace small', item);
                        end loop;
                    end
                    $$
                    """
                )
                try await body(harness)
            }
        }
    }

    /// Fills the disk until less than a page is free.
    private func fillDisk(_ database: TestDatabase) async throws {
        try await database.psql("create table public.filler (t text) tablespace small")
        for rows in [200, 1] {
            while (try? await database.psql(
                "insert into public.filler select repeat('x', 1900) from generate_series(1, \(rows))"
            )) != nil {}
        }
    }

    @Test(.enabled(if: mayMount, "needs the right to mount a small disk"))
    func aFullDiskLosesNothing() async throws {
        let plain = JobKind<Note>("test.plain")
        try await withSmallDisk { harness in
            var registry = try ExactJobs.registry()
            try registry.register(plain) { _, context in
                // The effects are on the large disk: the effect lands, the job's completion does not.
                try await harness.effect(context)
                return .completed()
            }
            try await harness.enqueue(try ExactJobs.make(60))
            try await harness.enqueue(try (0..<60).map { _ in try plain.job(Note()) })
            try await fillDisk(harness.database)

            // A batch of jobs that does not fit is refused as a whole.
            let large = Note(text: String(repeating: "x", count: 1500))
            let error = await #expect(throws: PostgresError.self) {
                try await harness.enqueue(try (0..<300).map { _ in try plain.job(large) })
            }
            #expect(error?.sqlState?.rawValue == "53100")
            let stored = try await harness.unfinished()
            #expect(stored == 120)

            let worker = try harness.worker(registry) { $0.slots = 40 }
            try await harness.withWorker(worker) {
                try await harness.until { worker.core.withLock { $0.failures } >= 3 }
                #expect(try await harness.unfinished() > 0)
                try await harness.database.psql("drop table public.filler")
                try await harness.until { try await harness.unfinished() == 0 }
            }
            try await ExactJobs.expect(120, harness.database)
        }
    }

    /// Another session locks the table for longer than statements may wait, again and again, each time while jobs run.
    @Test func lockTimeoutsLoseNothing() async throws {
        try await JobHarness.with { harness in
            var connection = harness.database.configuration
            connection.statementDeadline = .seconds(1)
            var pooling = PoolConfiguration(connection: connection)
            pooling.maximumConnections = 4
            // Handlers wait before their effect while the gate is shut, so that every lock meets jobs that are about to
            // end.
            let gate = Mutex((isOpen: false, waiting: 0))
            let registry = try JobRegistry(ExactJobs.kind) { _, context in
                gate.withLock { $0.waiting += 1 }
                defer { gate.withLock { $0.waiting -= 1 } }
                try await harness.until { gate.withLock { $0.isOpen } }
                return try await ExactJobs.end(context)
            }
            try await Pool.withPool(pooling, logger: harness.logger) { pool in
                let worker = try harness.worker(registry, in: pool) {
                    $0.slots = 8
                    $0.leaseLifetime = .seconds(5)
                }
                try await harness.withWorker(worker) {
                    for mode: Statement in ["access exclusive", "share row exclusive", "access exclusive"] {
                        gate.withLock { $0.isOpen = false }
                        try await harness.enqueue(try ExactJobs.make(50))
                        try await harness.until { gate.withLock { $0.waiting } == 8 }
                        try await harness.pool.withTransaction { connection in
                            try connection.execute("lock table accountctl.jobs in \(mode) mode")
                            gate.withLock { $0.isOpen = true }
                            // The worker notices the failure, and retries until it gets the lock.
                            try await harness.until { worker.core.withLock { $0.failures } >= 2 }
                        }
                        try await harness.until { try await harness.unfinished() == 0 }
                    }
                }
            }
            try await ExactJobs.expect(150, harness.database)
        }
    }

    /// Every tenth statement that writes jobs fails with a serialization conflict, with a deadlock, or at the server's
    /// time limit.
    ///
    /// The engine's own statements fail as those of handlers do; also under a limit, whose claims are transactions.
    @Test(arguments: [
        ("raise exception 'made by the test' using errcode = 'serialization_failure'", true),
        ("raise exception 'made by the test' using errcode = 'deadlock_detected'", false),
        ("perform pg_sleep(60)", true),
    ])
    func refusedStatementsLoseNothing(_ fault: String, isLimited: Bool) async throws {
        try await JobHarness.with { harness in
            try await harness.enqueue(try ExactJobs.make(60))
            if isLimited {
                _ = try await harness.pool.withConnection { connection in
                    try harness.queue.limit(kind: ExactJobs.kind.name, running: 6, runningPerKey: nil, on: connection)
                }
            }
            // A sequence counts even in transactions that are rolled back.
            try await harness.database.psql(
                """
                create sequence public.writes;
                create sequence public.faults;
                create function public.fail() returns trigger language plpgsql security definer as $$
                begin
                    if nextval('public.writes') % 10 = 0 then
                        perform nextval('public.faults');
                        \(fault);
                    end if;
                    return null;
                end
                $$;
                create trigger fail before insert or update or delete on accountctl.jobs
                    for each statement execute function public.fail()
                """
            )
            var connection = harness.database.configuration
            connection.statementDeadline = .milliseconds(500)
            try await Pool.withPool(PoolConfiguration(connection: connection), logger: harness.logger) { pool in
                let worker = try harness.worker(try ExactJobs.registry(), in: pool) { $0.slots = 8 }
                try await harness.withWorker(worker) {
                    try await harness.until { try await harness.unfinished() == 0 }
                }
            }
            try await ExactJobs.expect(60, harness.database)
            #expect(try await harness.database.psql("select last_value > 5 from public.faults") == "t")
        }
    }
}
