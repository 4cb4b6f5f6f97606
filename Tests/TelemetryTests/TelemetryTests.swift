import CoreMetrics
import Foundation
import Logging
import Synchronization
import Telemetry
import Terminal
import Testing

@Suite("Log lines")
struct LogLineTests {
    @Test("Log lines and JSON escape exactly the characters that tables escape")
    func oneListOfHarmfulCharacters() throws {
        let blocks: [ClosedRange<UInt32>] = [
            0x7F...0x3000, 0xE000...0xE00F, 0xFE00...0xFFFF, 0x13430...0x1345F, 0x1BCA0...0x1BCAF, 0x1D170...0x1D17F,
            0x1F600...0x1F60F, 0xE0000...0xE0080, 0xE0100...0xE010F,
        ]
        var differing: [String] = []
        for scalar in (blocks.joined() + Array(0..<0x20)).compactMap(Unicode.Scalar.init) {
            // By itself, and after a letter with which it may combine.
            for text in [String(scalar), "ä\(scalar)"] {
                let isShown = SafeText.line(text).unicodeScalars.contains(scalar)
                var written = [logged(.text) { $0.info("\(text)") }, logged(.json) { $0.info("\(text)") }]
                var json = ""
                JSONText.quote(text, to: &json)
                // JSON decodes to the same text.
                let decoded = try JSONDecoder().decode(String.self, from: Data(json.utf8))
                #expect(decoded.unicodeScalars.elementsEqual(text.unicodeScalars))
                written = written.map { String($0.dropLast()) } + [json]
                for line in written where line.unicodeScalars.contains(scalar) != isShown {
                    differing.append(String(scalar.value, radix: 16))
                }
            }
        }
        #expect(differing.isEmpty)
    }

    private func logged(_ format: LineLogHandler.Format, _ body: (Logger) -> Void) -> String {
        let lines = Lines()
        let logger = Logger(label: "test") { label in
            LineLogHandler(
                label: label,
                format: format,
                level: .info,
                now: { Date(timeIntervalSince1970: 1_795_216_504.12) },
                write: { lines.add($0) }
            )
        }
        body(logger)
        return lines.text
    }

    @Test func json() {
        let text = logged(.json) { logger in
            logger.info("he said \"hi\"\n", metadata: ["job": "7", "level": "mine", "list": ["a", "b"]])
            logger.debug("too low")
        }
        #expect(
            text == #"{"time":"2026-11-20T23:15:04.120Z","level":"info","logger":"test","message":"he said \"hi\"\n","#
                + #""job":"7","metadata.level":"mine","list":["a","b"]}"# + "\n"
        )
    }

    @Test("The text of a log message can neither begin a second line nor control the terminal")
    func hostile() {
        let text = logged(.text) { $0.info("a\nb\u{1B}[2J", metadata: ["k": "x\ny"]) }
        #expect(text == "23:15:04.120 info a\\u{a}b\\u{1b}[2J k=x\\u{a}y\n")
    }

    @Test("Personal data and secrets are masked, nested values included, at every level")
    func masked() {
        let text = logged(.json) { logger in
            logger.error(
                "x",
                metadata: [
                    "email": "anna@example.com", "user_id": "8d3c2a1e-5b7f-4c9d-8e21-0a9b8c7d6e5f",
                    "refresh_token": "r.1", "nested": ["phone": "49151123456", "list": ["ok"]],
                ]
            )
        }
        for secret in ["anna@example", "5b7f", "r.1", "151123"] { #expect(!text.contains(secret)) }
        #expect(text.contains(#""list":["ok"]"#))
        #expect(text.contains(#""email":"ann***""#))
    }
}

@Suite("Metrics as Prometheus reads them")
struct MetricsTests {
    @Test func text() {
        let registry = MetricsRegistry(help: ["jobs_done": "Jobs that are done."])
        let counter = Counter(label: "jobs.done", dimensions: [("kind", "a\"b\\c\nd\"\u{301}")], factory: registry)
        counter.increment(by: 2)
        counter.increment()
        Counter(label: "jobs.done", dimensions: [("kind", "z")], factory: registry).increment()
        Gauge(label: "depth", factory: registry).record(2.5)
        #expect(
            registry.text() == """
                # TYPE depth gauge
                depth 2.5
                # HELP jobs_done Jobs that are done.
                # TYPE jobs_done counter
                jobs_done{kind="a\\"b\\\\c\\nd\\"\u{301}"} 3
                jobs_done{kind="z"} 1

                """
        )
    }

    @Test("A series is removed when a handle of it is destroyed, not when a handle is dropped")
    func destroyed() {
        let registry = MetricsRegistry()
        for stream in ["a", "b"] {
            Gauge(label: "reach", dimensions: [("stream", stream)], factory: registry).record(1)
        }
        #expect(registry.text().contains("stream=\"a\""))
        Gauge(label: "reach", dimensions: [("stream", "a")], factory: registry).destroy()
        #expect(registry.text() == "# TYPE reach gauge\nreach{stream=\"b\"} 1\n")
    }

    @Test("Buckets count everything up to their bound, in seconds")
    func histogram() {
        let registry = MetricsRegistry()
        let timer = Timer(label: "run_seconds", factory: registry)
        timer.recordNanoseconds(2_000_000)
        timer.recordNanoseconds(40_000_000_000_000)
        let lines = registry.text().split(separator: "\n")
        #expect(lines.contains("run_seconds_bucket{le=\"0.001\"} 0"))
        #expect(lines.contains("run_seconds_bucket{le=\"0.0025\"} 1"))
        #expect(lines.contains("run_seconds_bucket{le=\"1800\"} 1"))
        #expect(lines.contains("run_seconds_bucket{le=\"+Inf\"} 2"))
        #expect(lines.contains("run_seconds_count 2"))
        #expect(lines.contains("run_seconds_sum 40000.002"))
    }

    @Test("Labels without bound do not exhaust the memory of the process")
    func bounded() {
        let registry = MetricsRegistry(maximumSeries: 3)
        for index in 0..<10 {
            Counter(label: "c", dimensions: [("i", "\(index)")], factory: registry).increment()
        }
        #expect(registry.text().contains("metrics_dropped_series_total 7"))
    }

    @Test func concurrently() async {
        let registry = MetricsRegistry()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<1000 { Counter(label: "c", factory: registry).increment() }
                }
            }
        }
        #expect(registry.text().contains("c 4000\n"))
    }
}

@Suite("Health", .timeLimit(.minutes(5)))
struct HealthTests {
    @Test func parts() async {
        let health = Health()
        #expect(await health.report().isReady)
        health.add("database") { .notReady("cannot be reached") }
        health.add("worker") { .ready }
        let report = await health.report()
        #expect(!report.isReady)
        #expect(report.json == #"{"ready":false,"parts":{"database":"cannot be reached","worker":"ready"}}"# + "\n")
    }

    @Test("A process is not ready from the moment it begins to stop")
    func stopping() async {
        let health = Health()
        health.stop()
        #expect(await !health.report().isReady)
    }

    @Test(
        "A part that hangs is reported not ready in time, is asked once for all probes, and counts again once it answers",
        .timeLimit(.minutes(1))
    )
    func hanging() async throws {
        let health = Health(patience: .milliseconds(500))
        let asked = Mutex(0)
        let (answer, release) = AsyncStream<Void>.makeStream()
        health.add("worker") { .ready }
        health.add("database") {
            asked.withLock { $0 += 1 }
            for await _ in answer { break }
            return .ready
        }
        for _ in 0..<3 {
            let report = await health.report()
            #expect(report.parts == ["database": .notReady("gives no answer"), "worker": .ready])
        }
        #expect(asked.withLock(\.self) == 1)
        release.finish()
        // The late answer may reach a report that is being made, or none.
        while await !health.report().isReady { try Task.checkCancellation() }
    }
}

private final class Lines: Sendable {
    private let collected = Mutex("")

    var text: String { collected.withLock { $0 } }

    func add(_ line: String) {
        collected.withLock { $0 += line }
    }
}
