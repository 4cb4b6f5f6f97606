import Foundation
import HTTPService
import Synchronization
import Telemetry
import TestSupport
import Testing

@Suite("The listeners", .timeLimit(.minutes(5)))
struct HTTPServiceTests {
    /// Sends one request with curl, which is independent of our own code, and returns the answer's status and body.
    private func request(_ port: Int, _ path: String, _ options: [String] = []) async throws -> (
        status: Int, body: String
    ) {
        let text = try await TestCluster.command(
            ["curl", "-s", "-w", "\n%{http_code}", "http://127.0.0.1:\(port)\(path)"] + options
        )
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return (Int(lines.last ?? "") ?? 0, lines.dropLast().joined(separator: "\n"))
    }

    @Test("Health, metrics and wake-up, on the admin listener")
    func admin() async throws {
        let health = Health()
        let wakes = Wakes()
        try await ListenerStage.withPort({ started in
            try await AdminListener(
                address: ListenerAddress(host: "127.0.0.1", port: 0),
                health: health,
                metrics: { "m 1\n" },
                wake: { wakes.add() },
                logger: .silent,
                started: started
            ).run()
        }) { (port: Int) async throws -> Void in
            #expect(try await request(port, "/health/live").status == 200)
            #expect(try await request(port, "/health/ready").status == 200)
            health.add("database") { .notReady("away") }
            let ready = try await request(port, "/health/ready")
            #expect(ready.status == 503)
            #expect(ready.body.contains("\"database\":\"away\""))
            #expect(try await request(port, "/health/live", ["-I"]).status == 200)
            #expect(try await request(port, "/health/ready", ["-I"]).status == 503)
            #expect(try await request(port, "/wake", ["-I"]).status == 404)
            #expect(try await request(port, "/metrics").body == "m 1\n")
            #expect(try await request(port, "/wake", ["-X", "POST"]).status == 202)
            #expect(try await request(port, "/wake").status == 404)
            #expect(try await request(port, "/apple/notifications", ["-X", "POST"]).status == 404)
            #expect(wakes.count == 1)
        }
    }

    @Test("Without a host it listens on every address of the machine, of either kind")
    func everyAddress() async throws {
        try await ListenerStage.withPort({ started in
            try await AdminListener(
                address: ListenerAddress(host: "", port: 0),
                health: Health(),
                metrics: { "m 1\n" },
                wake: {},
                logger: .silent,
                started: started
            ).run()
        }) { (port: Int) async throws -> Void in
            #expect(try await request(port, "/health/live").status == 200)
            // A kernel without IPv6 has no IPv6 address to listen on.
            guard FileManager.default.fileExists(atPath: "/proc/net/if_inet6") else { return }
            let text = try await TestCluster.command(["curl", "-s", "-g", "http://[::1]:\(port)/metrics"])
            #expect(text == "m 1\n" || text == "m 1")
        }
    }

    private struct Trouble: Error {}

    private static func answer(_ body: [UInt8]) async throws -> PublicListener.Outcome {
        switch String(decoding: body, as: UTF8.self) {
        case "good": return .accepted
        case "later": return .later
        case "broken": throw Trouble()
        default: return .refused
        }
    }

    @Test("A notification is answered with 200 only when it was accepted; nothing else is served")
    func notifications() async throws {
        try await ListenerStage.withPort({ started in
            try await PublicListener(
                address: ListenerAddress(host: "127.0.0.1", port: 0),
                logger: .silent,
                notification: Self.answer,
                started: started
            ).run()
        }) { (port: Int) async throws -> Void in
            let path = "/apple/notifications"
            #expect(try await request(port, path, ["-d", "good"]).status == 200)
            #expect(try await request(port, path, ["-d", "bad"]).status == 400)
            #expect(try await request(port, path, ["-d", "later"]).status == 503)
            #expect(try await request(port, path, ["-d", "broken"]).status == 503)
            #expect(try await request(port, path).status == 404)
            #expect(try await request(port, "/metrics").status == 404)
            #expect(try await request(port, "/health/ready").status == 404)
            #expect(try await request(port, "/healthz").status == 204)
            #expect(try await request(port, "/healthz", ["-I"]).status == 204)
        }
    }

    @Test("A body larger than the limit is refused")
    func largeBody() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("body-\(UUID().uuidString)")
        try Data(repeating: 0x61, count: PublicListener.maximumBody + 1).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        try await ListenerStage.withPort({ started in
            try await PublicListener(
                address: ListenerAddress(host: "127.0.0.1", port: 0),
                logger: .silent,
                notification: { _ in .accepted },
                started: started
            ).run()
        }) { (port: Int) async throws -> Void in
            let options = ["--data-binary", "@" + file.path, "-H", "Expect:"]
            #expect(try await request(port, "/apple/notifications", options).status == 413)
        }
    }
}

private final class Wakes: Sendable {
    private let number = Mutex(0)

    var count: Int { number.withLock { $0 } }

    func add() {
        number.withLock { $0 += 1 }
    }
}
