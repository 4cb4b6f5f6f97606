import Foundation
import TestSupport
import Testing

@Suite("The file of an export", .timeLimit(.minutes(5)))
struct UserExportFileTests {
    private static let anna = OperatorStage.id(1)

    @Test("An existing file is kept, and a failed run leaves no file")
    func wholeOrNotAtAll() async throws {
        try await StorageStage.with { storage in
            let stage = storage.stage
            try await stage.addAccounts(1)
            let path = stage.path("anna.tar")
            try "mine".write(toFile: path, atomically: true, encoding: .utf8)
            let command = ["user", "export", Self.anna, "--output", path]
            let refused = try await stage.run(command)
            #expect(refused.status == 2)
            #expect(refused.errors.contains("exists already"))
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
            #expect(try await stage.run(command + ["--force"]).status == 0)
            #expect(try String(contentsOfFile: path, encoding: .isoLatin1).contains("ustar"))
            try FileManager.default.removeItem(atPath: path)

            let blind = try await stage.run(command, as: "authenticated")
            #expect(blind.status == 4, "\(blind.errors)")
            try await storage.upload("\(Self.anna)/me.jpeg", by: Self.anna)
            let elsewhere = OperatorStage(
                database: stage.database,
                folder: stage.folder,
                variables: stage.variables.merging(["ACCOUNTCTL_STORAGE_URL": "http://127.0.0.1:1/storage/v1"]) { $1 }
            )
            let away = try await elsewhere.run(command)
            #expect(away.status == 75, "\(away.errors)")
            let left = try FileManager.default.contentsOfDirectory(atPath: stage.folder.path)
            #expect(!left.contains { $0.hasPrefix("anna.tar") }, "\(left)")
            #expect(try await elsewhere.run(command + ["--without-files"]).status == 0)
            let log = "select count(*) from accountctl.operator_log where action = 'user.export'"
            #expect(try await stage.database.psql(log) == "2")
            let dry = try await stage.run(["user", "export", Self.anna, "--dry-run", "--json", "rows,files"])
            #expect(dry.status == 0)
            #expect(dry.output.contains(#""files": 1"#))
            // A setting that a command does not use does not stop it.
            let wrong = ["ACCOUNTCTL_MAIL_RESOLVERS": "x", "ACCOUNTCTL_STORAGE_URL": "x"]
            for words in [["user", "export", "--dry-run"], ["deletion", "plan"]] {
                let variables = stage.variables.merging(wrong) { $1 }
                let look = try await AccountctlProcess(words + [Self.anna], environment: variables).result()
                #expect(look.status != 2 && !look.output.isEmpty, "\(look)")
            }
            #expect(try await stage.run(["user", "export", OperatorStage.id(7), "--dry-run"]).status == 3)
        }
    }

    @Test("An archive is written neither to a folder, a pipe nor to standard output")
    func paths() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
            let pipe = stage.path("pipe")
            try #require(mkfifo(pipe, 0o600) == 0)
            for (path, said) in [
                ("-", "cannot be written to a pipe"), ("", "--output"), (stage.folder.path, "is a folder"),
                (pipe, "is a pipe"),
            ] {
                let words = ["user", "export", Self.anna, "--without-files", "--force", "--output", path]
                let result = try await stage.run(words)
                #expect(result.status == 2 && result.errors.contains(said), "\(path): \(result.errors)")
            }
            #expect(try await stage.database.psql("select count(*) from accountctl.operator_log") == "0")
        }
    }

    #if os(Linux)
        /// Such a link as /dev/stdout, which root would replace for all programs of the machine.
        @Test("An archive does not take the place of a link to an open file")
        func openFile() async throws {
            try await OperatorStage.with(accounts: 1) { stage in
                let (link, open) = (stage.path("link"), "/proc/self/fd/0")
                try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: open)
                let words = ["user", "export", Self.anna, "--without-files", "--force", "--output", link]
                let result = try await stage.run(words)
                #expect(result.status == 2 && result.errors.contains("is a link to an open file"), "\(result.errors)")
                #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == open)
            }
        }
    #endif

    @Test("A run that is ended in the middle leaves nothing of the archive behind")
    func ended() async throws {
        try await StorageStage.with { storage in
            let stage = storage.stage
            try await stage.addAccounts(1)
            try await storage.upload("\(Self.anna)/me.jpeg", by: Self.anna)
            try await DeafServer.with { port in
                let deaf = ["ACCOUNTCTL_STORAGE_URL": "http://127.0.0.1:\(port)/storage/v1"]
                let export = try AccountctlProcess(
                    ["user", "export", Self.anna, "--output", stage.path("anna.tar")],
                    environment: stage.variables.merging(deaf) { $1 }
                )
                while try !hasFileOpen(export.id, below: stage.folder.path) {
                    try #require(export.isRunning, "\(export.errorsSoFar)")
                    try await Task.sleep(for: .milliseconds(10))
                }
                export.signal(SIGTERM)
                #expect(try await export.result().status == -SIGTERM)
            }
            let left = try FileManager.default.contentsOfDirectory(atPath: stage.folder.path)
            #expect(!left.contains { $0.hasPrefix("anna.tar") }, "\(left)")
        }
    }

    private func hasFileOpen(_ process: Int32, below folder: String) throws -> Bool {
        let open = "/proc/\(process)/fd"
        return try FileManager.default.contentsOfDirectory(atPath: open).contains { name in
            let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(open)/\(name)")
            return path?.hasPrefix(folder + "/") == true && path?.hasSuffix(".key") == false
        }
    }

    @Test("A file larger than the memory that the program takes is exported whole")
    func large() async throws {
        try await StorageStage.with { storage in
            let stage = storage.stage
            try await stage.addAccounts(1)
            let size = 300 << 20
            try await storage.upload("\(Self.anna)/film.mov", by: Self.anna)
            try await storage.upload("\(Self.anna)/nothing.txt", by: Self.anna)
            try storage.setLength(of: "film.mov", size)
            try storage.setLength(of: "nothing.txt", 0)
            let export = try AccountctlProcess(
                ["user", "export", Self.anna, "--output", stage.path("anna.tar")],
                environment: stage.variables
            )
            var peak = 0
            while export.isRunning {
                peak = max(peak, Self.peakMemory(of: export.id) ?? 0)
                try await Task.sleep(for: .milliseconds(20))
            }
            let result = try await export.result()
            #expect(result.status == 0, "\(result.errors)")
            #expect(peak > 0 && peak < 200 << 10, "\(peak) kB")
            let archive = try ExportedArchive(stage.path("anna.tar"), unpackedIn: stage)
            let sums = try archive.checkSums()
            #expect(Set(sums.compactMap(\.bytes)).isSuperset(of: [0, size]))
        }
    }

    /// The peak memory of a process so far, in kB.
    private static func peakMemory(of process: Int32) -> Int? {
        let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = status?.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }
    }
}
