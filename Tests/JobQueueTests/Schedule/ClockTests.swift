import Foundation
import JobQueue
import Postgres
import TestSupport
import Testing

/// The server's clock alone counts: a worker on a machine whose clock is hours off does the same at the same time.
@Suite(.timeLimit(.minutes(5))) struct ClockTests {
    struct Arguments: Codable, Sendable {
        var milliseconds = 0
    }

    private struct Entry: Decodable {
        let at: Date
    }

    /// A library that moves the wall clock of a process, and nothing else, by `SKEW` seconds.
    private static let shim = """
        #define _GNU_SOURCE
        #include <stdlib.h>
        #include <sys/syscall.h>
        #include <sys/time.h>
        #include <time.h>
        #include <unistd.h>
        static long skew(void) { const char *s = getenv("SKEW"); return s ? atol(s) : 0; }
        int clock_gettime(clockid_t id, struct timespec *t) {
            int result = (int)syscall(SYS_clock_gettime, id, t);
            if (result == 0 && id == CLOCK_REALTIME) t->tv_sec += skew();
            return result;
        }
        int gettimeofday(struct timeval *restrict t, void *restrict zone) {
            struct timespec now;
            clock_gettime(CLOCK_REALTIME, &now);
            if (t) { t->tv_sec = now.tv_sec; t->tv_usec = now.tv_nsec / 1000; }
            return 0;
        }
        time_t time(time_t *t) {
            struct timespec now;
            clock_gettime(CLOCK_REALTIME, &now);
            if (t) *t = now.tv_sec;
            return now.tv_sec;
        }

        """

    @Test(arguments: [18_000, -18_000]) func aSkewedWorkerKeepsTheServersTime(skew: Int) async throws {
        let folder = try TemporaryFolder("clock")
        defer { folder.remove() }
        try Self.shim.write(toFile: folder.path + "/shim.c", atomically: true, encoding: .utf8)
        // The compiler comes with the toolchain.
        try await TestCluster.command([
            "clang", "-shared", "-fPIC", "-o", folder.path + "/shim.so", folder.path + "/shim.c",
        ])
        let environment = ["LD_PRELOAD": folder.path + "/shim.so", "SKEW": "\(skew)"]
        let told = try await TestCluster.command(["date", "+%s"], environment: environment)
        // The shim works.
        #expect(abs((Double(told) ?? 0) - Date().timeIntervalSince1970 - Double(skew)) < 60)

        try await JobHarness.with { harness in
            let kind = JobKind<Arguments>("test.later")
            let began = Date()
            let id = try await harness.enqueue([kind.job(Arguments(milliseconds: 3000))])[0].id
            let worker = try WorkerProcess(harness, environment: environment)
            try await harness.until { try await harness.unfinished() == 0 }
            worker.kill(SIGKILL)
            // The snooze took as long as it should, not five hours more or less.
            let waited = try await harness.count(
                """
                select (extract(epoch from max(at) - min(at)) * 1000)::bigint
                from public.effects
                where id > 1
                """
            )
            #expect((2500...20_000).contains(waited))
            let details = try #require(try await harness.show(id))
            #expect(details.record.state == .completed)
            let failed = try #require(try details.errors?.decode(as: [Entry].self).first)
            #expect((began.addingTimeInterval(-2)...Date()).contains(failed.at))
        }
    }
}
