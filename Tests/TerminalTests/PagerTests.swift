import Foundation
import Testing

@testable import Terminal

@Suite("Text longer than the screen goes to a pager")
struct PagerTests {
    private static let terminal = StreamStyle(isTerminal: true, width: 80, colour: false)

    private func decide(_ environment: [String: String], _ style: StreamStyle = terminal, rows: Int? = 24) -> Pager? {
        .decide(style: style, rows: rows, environment: environment) { $0 != "missing" }
    }

    @Test("The product's own variable wins over PAGER, and PAGER over less")
    func choice() {
        #expect(decide([:])?.command == "less")
        #expect(decide([:])?.environment["LESS"] == "FRX")
        #expect(decide(["LESS": "S"])?.environment["LESS"] == "S")
        #expect(decide(["PAGER": "more -d"])?.command == "more -d")
        #expect(decide(["PAGER": "more", "ACCOUNTCTL_PAGER": "most"])?.command == "most")
        #expect(decide(["LINES": "50"])?.rows == 50)
    }

    @Test(
        "The pager gets none of our secrets, and under sudo less gives no shell of the other user",
        arguments: [nil, "SUDO_UID", "SUDO_USER"]
    )
    func isHarmless(sudo: String?) throws {
        var environment = [
            "ACCOUNTCTL_DATABASE_PASSWORD_FILE": "-", "ACCOUNTCTL_PAGER": "less -S", "PGPASSWORD": "secret",
            "PGSERVICE": "x", "PAGER": "more", "TERM": "xterm", "LESSSECURE": "",
        ]
        if let sudo { environment[sudo] = "1000" }
        let pager = try #require(decide(environment))
        #expect(pager.command == "less -S")
        var expected = ["PAGER": "more", "TERM": "xterm", "LESS": "FRX", "LESSSECURE": sudo == nil ? "" : "1"]
        if let sudo { expected[sudo] = "1000" }
        #expect(pager.environment == expected)
    }

    @Test("No pager is used where nobody could use it, and never one that is not installed")
    func none() {
        #expect(decide([:], .plain) == nil)
        #expect(decide(["TERM": "dumb"]) == nil)
        #expect(decide(["PAGER": ""]) == nil)
        #expect(decide(["PAGER": "cat"]) == nil)
        #expect(decide(["PAGER": "missing -x"]) == nil)
        #expect(decide([:], rows: nil) == nil)
        #expect(Pager.isInstalled("sh", path: "/nowhere:/bin"))
        #expect(!Pager.isInstalled("sh", path: "/nowhere"))
        #expect(Pager.isInstalled("/bin/sh", path: ""))
    }

    /// Lists this many rows with a pager; returns the text written directly and the text that the pager received.
    private func list(_ count: Int, pager command: (String) -> String) throws -> (direct: String, paged: String?) {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("paged-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        let sink = MemorySink()
        let output = Output(
            format: .table,
            style: Self.terminal,
            sink: sink,
            messages: Messages(style: .plain, sink: MemorySink()),
            pager: Pager(command: command(file), rows: 10, columns: 80, environment: ["PATH": "/bin:/usr/bin"])
        )
        try output.list(Array(1...count), [Field<Int>("n", "N") { .integer($0) }])
        return (sink.text, try? String(contentsOfFile: file, encoding: .utf8))
    }

    @Test("Short text is written directly; long text reaches the pager whole, and the list waits for the pager's end")
    func length() throws {
        let short = try list(5) { "cat > \($0)" }
        #expect(short.direct.split(separator: "\n").count == 6 && short.paged == nil)
        let long = try list(50_000) { "sleep 0.2; cat > \($0); echo end >> \($0)" }
        #expect(long.direct.isEmpty)
        #expect(long.paged?.split(separator: "\n").count == 50_002)
        #expect(long.paged?.hasSuffix("50000\nend\n") == true)
    }

    @Test("Leaving the pager ends the list and is no failure")
    func left() throws {
        signal(SIGPIPE, SIG_IGN)
        let result = try list(200_000) { "head -n 3 > \($0)" }
        #expect(result.paged == "N\n1\n2\n" && result.direct.isEmpty)
    }

    @Test("After an error in a list, the pager still shows the rows before it")
    func failure() throws {
        struct Broken: Error {}
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("paged-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        let pager = Pager(command: "cat > \(file)", rows: 2, columns: 80, environment: ["PATH": "/bin"])
        #expect(throws: Broken.self) {
            try PagerSink.withPager(pager, MemorySink()) { sink in
                try sink.write("a\nb\nc\n")
                throw Broken()
            }
        }
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "a\nb\nc\n")
    }

    @Test func height() {
        let pager = Pager(command: "x", rows: 2, columns: 10, environment: [:])
        #expect(pager.height(of: "") == 0)
        #expect(pager.height(of: "a\n\nb\n") == 3)
        #expect(pager.height(of: String(repeating: "x", count: 21) + "\n") == 3)
    }
}
