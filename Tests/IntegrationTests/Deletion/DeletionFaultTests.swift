import Foundation
import Postgres
import Sandbox
import TestSupport
import Testing

/// If the database fails or a worker stops in the middle of erasures, nothing is lost, no other account is touched, and
/// the run completes once the fault is gone.
@Suite("Faults while accounts are erased", .timeLimit(.minutes(5)))
struct DeletionFaultTests {
    @Test("The server is restarted in fast and in immediate mode")
    func restarts() async throws {
        try await TestCluster.with { cluster in
            try await ErasureSite.with(accounts: 30, in: cluster) { site in
                try await site.withWorker { worker in
                    try await site.wait(untilOpenAtMost: 25)
                    try await cluster.restart(mode: "fast")
                    try await site.wait(untilOpenAtMost: 15)
                    try await cluster.restart(mode: "immediate")
                    try await site.wait(untilOpenAtMost: 0)
                    worker.signal(SIGTERM)
                    #expect(try await worker.result().status == 0)
                    try await site.expectAllErased()
                }
            }
        }
    }

    /// A standby before its promotion and a hosted database with a full disk refuse writes with this error.
    @Test("Writes are refused for a while")
    func readOnly() async throws {
        try await TestCluster.with { cluster in
            try await ErasureSite.with(accounts: 20, in: cluster) { site in
                let middle = site.holdInTheMiddle()
                try await site.withWorker { worker in
                    await middle.reached(2)
                    try await cluster.psql("alter system set default_transaction_read_only = on")
                    try await cluster.psql("select pg_reload_conf()")
                    #expect(try await worker.waitForErrors(containing: "25006"))
                    let open = try await site.open()
                    try await cluster.psql("alter system set default_transaction_read_only = off")
                    try await cluster.psql("select pg_reload_conf()")
                    middle.open()
                    #expect(open > 0, "the fault came too late to say anything")
                    try await site.wait(untilOpenAtMost: 0)
                    worker.signal(SIGTERM)
                    #expect(try await worker.result().status == 0)
                    try await site.expectAllErased()
                }
            }
        }
    }

    @Test("A sign-in code does not wait for erasures that hold every connection")
    func codes() async throws {
        try await ErasureSite.with(accounts: 0) { site in
            let settings = ["ACCOUNTCTL_DATABASE_CONNECTIONS": "1", "ACCOUNTCTL_WORKER_CONCURRENCY": "8"]
            try await site.withWorker(settings) { worker in
                try await site.database.withConnection(asAdministrator: true) { connection in
                    try await connection.transaction { connection in
                        try connection.execute("lock table storage.objects in access exclusive mode")
                        try await site.database.psql(
                            """
                            select accountctl.open_deletion_request(id, 'operator', null, '0 seconds')
                            from auth.users
                            where email = 'stays1@example.com'
                            """
                        )
                        try await connection.waitUntilSomebodyIsBlocked()
                        // An expired code is settled without a request to Apple.
                        try await site.database.psql(
                            """
                            select accountctl.store_authorization_code(id, 'code') from auth.users where email = 'stays2@example.com';
                            update accountctl.authorization_codes set expires_at = now() - interval '1 second'
                            """
                        )
                        try await site.database.waitUntil(
                            "exists (select from accountctl.authorization_codes where state = 'expired')",
                            changes: "accountctl.authorization_codes"
                        )
                    }
                }
                worker.signal(SIGTERM)
                #expect(try await worker.result().status == 0)
            }
        }
    }

    @Test("The server has no free connection")
    func outOfConnections() async throws {
        try await TestCluster.with { cluster in
            try await ErasureSite.with(accounts: 20, in: cluster) { site in
                // A worker that cannot connect at the start gives up after half a minute with a hint; the other worker
                // runs meanwhile.
                try await cluster.psql("create database crowded connection limit 0")
                let crowded = site.variables.merging(["PGDATABASE": "crowded"]) { $1 }
                let late = try AccountctlProcess(["worker", "--until-idle"], environment: crowded)
                let middle = site.holdInTheMiddle()
                try await site.withWorker { worker in
                    await middle.reached(2)
                    try await cluster.psql("alter role postgres connection limit 0")
                    try await cluster.psql(
                        "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'postgres'"
                    )
                    #expect(try await worker.waitForErrors(containing: "too many connections"))
                    let open = try await site.open()
                    #expect(open > 0, "the fault came too late to say anything")
                    try await cluster.psql("alter role postgres connection limit -1")
                    middle.open()
                    try await site.wait(untilOpenAtMost: 0)
                    worker.signal(SIGTERM)
                    #expect(try await worker.result().status == 0)
                    try await site.expectAllErased()
                }
                let refused = try await late.result()
                #expect(
                    refused.status == 75 && refused.errors.contains("accepts no connections at present"),
                    "\(refused)"
                )
            }
        }
    }

    @Test("A stopping worker hands its requests back without using up an attempt")
    func terminated() async throws {
        try await ErasureSite.with(accounts: 8) { site in
            let gate = FaultGate()
            site.sandbox.faults.set(.hold(at: gate, effect: .after), for: .storageDeleteMany)
            // A Storage call that timed out before the stop would count as a failure, so the timeout is long.
            let patient = ["ACCOUNTCTL_WORKER_LEASE": "90s", "ACCOUNTCTL_STORAGE_TIMEOUT": "60s"]
            let brief = ["ACCOUNTCTL_WORKER_SHUTDOWN_TIMEOUT": "100ms"]
            try await site.withWorker(patient.merging(brief) { $1 }) { worker in
                await gate.reached(2)
                worker.signal(SIGTERM)
                #expect(try await worker.result().status == 0)
                let handedBack =
                    "select count(*) from accountctl.jobs where kind = 'account.delete' and state <> 'running'"
                #expect(try await site.database.psql(handedBack) == "8")
                let used = "select count(*) from accountctl.jobs where attempt > 0 or crashes > 0"
                #expect(try await site.database.psql(used) == "0")
                let failed = "select count(*) from accountctl.deletion_requests where failures > 0"
                #expect(try await site.database.psql(failed) == "0")
                site.sandbox.faults.clearAll()
                let environment = site.variables.merging(patient) { $1 }
                let next = try await AccountctlProcess.run("worker", "--until-idle", environment: environment)
                #expect(next.status == 0, "\(next.errors)")
                try await site.expectAllErased()
            }
        }
    }
}
