import Foundation
import Testing

@testable import JobQueue

extension BadInputTests {
    private func setting(_ change: (inout WorkerConfiguration) -> Void) -> String? {
        var configuration = WorkerConfiguration(name: "w")
        change(&configuration)
        let changed = configuration
        return field { try changed.check() }
    }

    @Test func slotsAndNamesOfWorkersOutOfRange() {
        #expect(setting { _ in } == nil)
        for name in ["", "a\0", String(repeating: "a", count: 201)] { #expect(setting { $0.name = name } == "name") }
        for slots in [0, -1, 10_001] { #expect(setting { $0.slots = slots } == "slots") }
        for slots in [-1, 1001] { #expect(setting { $0.reservedSlots = slots } == "reservedSlots") }
        for batch in [0, 5001] { #expect(setting { $0.batch = batch } == "batch") }
        #expect(setting { ($0.slots, $0.reservedSlots, $0.batch) = (10_000, 0, 5000) } == nil)
        #expect(setting { ($0.slots, $0.reservedSlots, $0.batch) = (1, 1000, 1) } == nil)
    }

    /// Each duration is refused just below its minimum and just above its maximum; the bounds themselves are accepted.
    @Test func timesOfWorkersOutOfRange() {
        func check(
            _ name: String,
            _ path: WritableKeyPath<WorkerConfiguration, Duration>,
            _ range: ClosedRange<Duration>
        ) {
            for bad in [range.lowerBound - .milliseconds(1), range.upperBound + .milliseconds(1)] {
                #expect(setting { $0[keyPath: path] = bad } == name)
            }
            for good in [range.lowerBound, range.upperBound] { #expect(setting { $0[keyPath: path] = good } == nil) }
        }
        let hour = Duration.seconds(3600)
        check("linger", \.linger, .zero ... .milliseconds(100))
        check("pollInterval", \.pollInterval, .milliseconds(10)...hour)
        check("leaseLifetime", \.leaseLifetime, .seconds(1)...hour)
        check("shutdownGrace", \.shutdownGrace, .zero...hour)
        check("overdueGrace", \.overdueGrace, .zero...hour)
        check("retention", \.retention, .zero ... .seconds(3650 * 86_400))
        for bad in [Duration.milliseconds(999), .seconds(30 * 86_400 + 1)] {
            #expect(setting { $0.ageing = bad } == "ageing")
        }
        for bad in [Duration.milliseconds(999), .seconds(86_401)] {
            #expect(setting { $0.vacuumInterval = bad } == "vacuumInterval")
        }
        #expect(setting { ($0.ageing, $0.vacuumInterval) = (nil, nil) } == nil)
    }

    /// The initializer of the worker checks its configuration before anything else.
    @Test func aWorkerOutOfRangeIsNotMade() async throws {
        try await JobHarness.with { harness in
            let error = #expect(throws: JobQueueError.self) {
                _ = try harness.worker(JobRegistry()) { $0.slots = 0 }
            }
            #expect(error?.field == "slots")
        }
    }

    @Test func periodicJobsOutOfForm() throws {
        let job = try NewJob(kind: "k", queue: "q")
        func field(_ name: String = "p", zone: String = "UTC", job: NewJob) -> String? {
            self.field { _ = try PeriodicJob(name: name, schedule: "@daily", zone: zone, job: job) }
        }
        #expect(field(zone: "Europe/Berlin", job: job) == nil)
        for name in ["", "A", "a b", "1a", String(repeating: "a", count: 64)] {
            #expect(field(name, job: job) == "name")
        }
        for zone in ["", "Europe/ Berlin", "Zürich", "UTC\0", String(repeating: "Z", count: 65)] {
            #expect(field(zone: zone, job: job) == "zone")
        }
        #expect(field(job: try NewJob(kind: "k", queue: "q", runAt: Date(timeIntervalSince1970: 1))) == "runAt")
    }
}
