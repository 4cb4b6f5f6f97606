#if os(Linux)
    import Foundation
    import TestSupport
    import Testing

    @Suite("As the first process of a container", .timeLimit(.minutes(5)))
    struct FirstProcessTests {
        @Test(
            "A signal ends a command, although no signal has its default action there",
            .enabled(if: geteuid() == 0, "root alone makes a name space of processes")
        )
        func signals() async throws {
            try await TestDatabase.with(.migrated) { database in
                try await database.psql("insert into auth.users (id) values ('\(OperatorStage.id(1))')")
                let shell = try AccountctlProcess(
                    [
                        "--pid", "--fork", "--kill-child", AccountctlProcess.path, "user", "watch",
                        "\(OperatorStage.id(1))",
                    ],
                    environment: database.variables,
                    program: "/usr/bin/unshare"
                )
                #expect(try await shell.waitForOutput(containing: "active"))
                let children = try String(
                    contentsOfFile: "/proc/\(shell.id)/task/\(shell.id)/children",
                    encoding: .utf8
                )
                let first = try #require(children.split(separator: " ").first.flatMap { Int32($0) })
                kill(first, SIGTERM)
                #expect(try await shell.result(within: .seconds(60)).status == 128 + SIGTERM)
            }
        }
    }
#endif
