import Postgres
import Telemetry
import Testing

@testable import JobQueue

/// Every metric of the worker, with its value after a known series of events.
@Suite(.timeLimit(.minutes(5))) struct MetricsTests {
    @Test func everySeriesTellsWhatHappened() async throws {
        let expected = [
            ("good", "completed", 4), ("bad", "retried", 1), ("bad", "discarded", 1), ("patient", "snoozed", 1),
            ("patient", "cancelled", 1), ("lost", "completed", 1), ("erase", "retried", 1), ("good", "parked", 0),
        ].map { kind, outcome, count in
            ("jobs_finished_total{kind=\"test.\(kind)\",outcome=\"\(outcome)\"}", count)
        }
        try await JobHarness.with { harness in
            let metrics = MetricsRegistry()
            let worker = try JobMetrics.worker(harness, metrics) { $0.leaseLifetime = .seconds(8) }
            // The series that alarms watch exist before any job has run.
            for series in ["jobs_leases_lost_total", "jobs_rescued_total", "jobs_running", "jobs_dead_rows"] {
                #expect(JobMetrics.value(series, metrics.text()) == 0, "\(series)")
            }
            // A dead worker and the job that it left.
            try await harness.execute(
                """
                insert into accountctl.workers (name, version, slots, queues, kinds, expires_at)
                values ('gone', '1', 1, '{}', '{}', now() - interval '1 hour')
                """
            )
            try await harness.execute(
                """
                insert into accountctl.jobs (queue, kind, state, worker, lease, attempt, args)
                select 'one', 'test.good', 'running', max(id), nextval('accountctl.job_leases'), 1, '{"text":""}'
                from accountctl.workers
                """
            )
            let lost = try await harness.enqueue([JobMetrics.lost.job(Note())])[0].id
            let others = try [JobMetrics.bad, JobMetrics.patient, JobMetrics.erase].map { try $0.job(Note()) }
            try await harness.enqueue((0..<3).map { _ in try JobMetrics.good.job(Note()) } + others)
            try await harness.withWorker(worker) {
                try await harness.until {
                    try await harness.count("select count(*) from public.effects where note = 'lost'") == 1
                }
                try await harness.execute(
                    "update accountctl.jobs set lease = nextval('accountctl.job_leases') where id = \(lost)"
                )
                try await harness.until {
                    try await harness.count(
                        "select count(*) from accountctl.jobs where exhausted_at is null"
                    ) == 0
                }
                // Outcomes are counted a moment after they are written.
                try await harness.until {
                    let text = metrics.text()
                    return expected.allSatisfy { JobMetrics.value($0, text) == Double($1) }
                }
            }
            let text = metrics.text()
            for (series, count) in expected { #expect(JobMetrics.value(series, text) == Double(count), "\(series)") }
            #expect(JobMetrics.value("jobs_leases_lost_total", text) == 1)
            #expect(JobMetrics.value("jobs_rescued_total", text) == 1)
            #expect(JobMetrics.value("jobs_exhausted_total{kind=\"test.erase\"}", text) == 1)
            #expect(JobMetrics.value("jobs_run_seconds_count{kind=\"test.good\"}", text) == 4)
            #expect(JobMetrics.value("jobs_wait_seconds_count{kind=\"test.bad\"}", text) == 2)
            #expect(JobMetrics.value("jobs_running", text) == 0)
        }
    }
}
