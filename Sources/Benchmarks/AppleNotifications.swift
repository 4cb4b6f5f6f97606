import Logging
import Sandbox
import Sealing
import Subprocess

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

extension Benchmark {
    static let appleNotifications = Benchmark(
        name: "apple.notifications",
        summary: "500 of Apple's notifications a second for a minute while the worker handles them, p99 to the 200"
    ) {
        try await NotificationLoad.with { try await $0.sustained(seconds: 60) }
    }

    static let appleNotificationsKilled = Benchmark(
        name: "apple.notifications.killed",
        summary: "the same for ten seconds, the process killed in the middle: answered with 200 and not stored"
    ) {
        try await NotificationLoad.with { try await $0.killed(seconds: 10) }
    }
}

/// Sends Apple's notifications at a fixed rate, however long the answers take; each is timed from its scheduled moment.
struct NotificationLoad: Sendable {
    private static let database = "notifications"
    private static let perSecond = 500
    private static let accounts = 500

    /// A notification and its outcome.
    struct Answer: Sendable {
        let identifier: String
        /// The time to its answer; nil unless it was answered with 200.
        let milliseconds: Double?
    }

    private let cluster: BenchmarkCluster
    private let sandbox: Sandbox
    private let settingsFile: String
    private let url: String

    /// Runs on a server with default settings, which flushes at every commit, since an answer promises that the
    /// notification is stored.
    static func with(_ body: @Sendable (NotificationLoad) async throws -> [Figure]) async throws -> [Figure] {
        try await BenchmarkCluster.with(settings: []) { cluster in
            try await cluster.migratedDatabase(database)
            try await cluster.psql(["-c", people], database: database)
            return try await Sandbox.with(logger: .silent) { sandbox in
                // A port near one that was free a moment ago.
                let port = sandbox.port > 60_000 ? sandbox.port - 1000 : sandbox.port + 1000
                let settings = try WorkerFiles(folder: cluster.folder).writeSettings(
                    database: cluster.conninfo(database: database, user: "postgres"),
                    sealing: WorkerFiles.key("sealing"),
                    sandbox: sandbox,
                    more: """
                        [listen]
                        public = 127.0.0.1:\(port)

                        [log]
                        level = warning
                        """
                )
                return try await body(
                    NotificationLoad(
                        cluster: cluster,
                        sandbox: sandbox,
                        settingsFile: settings,
                        url: "http://127.0.0.1:\(port)/apple/notifications"
                    )
                )
            }
        }
    }

    /// Measures the 99th percentile of the time from the scheduled moment to the 200, with the worker running.
    func sustained(seconds: Int) async throws -> [Figure] {
        let bodies = try await signed(seconds * Self.perSecond)
        let answers = try await Program.accountctl.watch(["worker", "--config", settingsFile]) { worker in
            try await waitUntilListening()
            let answers = try await send(bodies)
            while try await count("handled_at is null") > 0 { try await Task.sleep(for: .milliseconds(200)) }
            kill(worker.value, SIGTERM)
            return answers
        }.result
        let times = answers.compactMap(\.milliseconds).sorted()
        guard times.count == bodies.count else {
            throw BenchmarkError("\(bodies.count - times.count) of \(bodies.count) were not answered with 200")
        }
        let p99 = times[times.count * 99 / 100]
        return [Figure(name: "apple.notifications", unit: "ms", goal: "p99 ≤ 50 ms", values: [p99])]
    }

    /// Counts the notifications that were answered with 200 but are missing from the table after the process was killed
    /// halfway.
    func killed(seconds: Int) async throws -> [Figure] {
        let bodies = try await signed(seconds * Self.perSecond)
        let book = AnswerBook()
        // The error is expected, since the worker is killed.
        _ = try? await Program.accountctl.watch(["worker", "--config", settingsFile]) { worker in
            try await waitUntilListening()
            async let sent: Void = fill(book, bodies)
            // In the middle of the stream, whatever the rate of answers, so that some requests are in flight.
            await book.holds(promises: bodies.count / 2)
            kill(worker.value, SIGKILL)
            try await sent
        }
        let answers = await book.answers
        let promised = answers.filter { $0.milliseconds != nil }.map { "'\(WorkerFiles.clientID)/\($0.identifier)'" }
        guard (bodies.count / 2..<bodies.count).contains(promised.count) else {
            throw BenchmarkError("\(promised.count) of \(bodies.count) were answered: not killed in the middle")
        }
        let kept = try await count("notification_id in (\(promised.joined(separator: ",")))")
        return [
            Figure(
                name: "apple.notifications.killed",
                unit: "lost",
                goal: "0",
                values: [Double(promised.count - kept)]
            )
        ]
    }

    // MARK: - Sending

    /// Signed before the clock starts, since signing is Apple's work.
    private func signed(_ number: Int) async throws -> [(identifier: String, body: String)] {
        try (0..<number).map { index in
            var notification = AppleNotification(
                index % 2 == 0 ? .consentRevoked : .accountDeleted,
                sub: Self.sub(index % Self.accounts),
                audience: WorkerFiles.clientID,
                eventTime: Date(),
                issuedAt: Date()
            )
            notification.identifier = "n\(index)"
            return (notification.identifier, try sandbox.notifications.body(notification))
        }
    }

    private func send(
        _ bodies: [(identifier: String, body: String)],
        _ note: @escaping @Sendable (Answer) async -> Void = { _ in }
    ) async throws -> [Answer] {
        try await withThrowingTaskGroup(of: Answer.self) { group in
            let clock = ContinuousClock()
            let start = clock.now
            for (index, item) in bodies.enumerated() {
                let due = start + .seconds(Double(index) / Double(Self.perSecond))
                if due > clock.now { try await clock.sleep(until: due) }
                group.addTask {
                    let status = try? await sandbox.notifications.post(body: item.body, to: url)
                    let took = (clock.now - due) / .milliseconds(1)
                    let answer = Answer(identifier: item.identifier, milliseconds: status == 200 ? took : nil)
                    await note(answer)
                    return answer
                }
            }
            var answers: [Answer] = []
            for try await answer in group { answers.append(answer) }
            return answers
        }
    }

    private func fill(_ book: AnswerBook, _ bodies: [(identifier: String, body: String)]) async throws {
        do {
            _ = try await send(bodies) { await book.keep($0) }
            await book.close()
        } catch {
            await book.close()
            throw error
        }
    }

    private func waitUntilListening() async throws {
        for _ in 0..<200 {
            if (try? await sandbox.notifications.post(body: "{}", to: url)) == 400 { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw BenchmarkError("the worker does not listen")
    }

    // MARK: - What is there

    private func count(_ condition: String) async throws -> Int {
        let text = try await cluster.psql(
            ["-c", "select count(*) from accountctl.credential_events where \(condition)"],
            database: Self.database
        )
        return Int(text.filter(\.isNumber)) ?? 0
    }

    private static func sub(_ index: Int) -> String { "001234.\(index).0123" }

    private static let people = """
        with people as (
            insert into auth.users (instance_id, id, aud, role, email, created_at)
            select '00000000-0000-0000-0000-000000000000', gen_random_uuid(), 'authenticated', 'authenticated',
                n || '@example.com', now() - interval '2 days'
            from generate_series(0, \(accounts - 1)) as n
            returning id, split_part(email, '@', 1) as n
        )
        insert into auth.identities (provider_id, user_id, identity_data, provider, last_sign_in_at)
        select '001234.' || n || '.0123', id, jsonb_build_object('sub', '001234.' || n || '.0123'), 'apple',
            now() - interval '1 day'
        from people;
        insert into auth.sessions (id, user_id) select gen_random_uuid(), id from auth.users;
        """
}
