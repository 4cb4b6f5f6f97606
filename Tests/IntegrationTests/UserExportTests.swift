import Crypto
import Foundation
import TestSupport
import Testing

@Suite("Exporting an account", .timeLimit(.minutes(5)))
struct UserExportTests {
    private static let anna = OperatorStage.id(1)
    private static let bob = OperatorStage.id(2)

    /// Tables as apps have them: rows by the account and by its profile, rows of rows, and answers of other people to
    /// them.
    private static let fixture = """
        create table public.posts (
            id bigint primary key, author_id uuid references public.profiles (id), body text, api_key text
        );
        create table public.comments (
            id bigint primary key, post_id bigint not null references public.posts, author_id uuid references auth.users, body text
        );
        create table public.pictures (id bigint primary key, post_id bigint references public.posts on delete set null, url text);
        create table public.pages (id bigint primary key, body text);
        create table public.帖子 (id bigint primary key, author uuid references auth.users, body text);
        create table public.评论 (id bigint primary key, author uuid references auth.users, t jsonb);
        insert into public.帖子 values (1, '\(anna)', 'a post of Anna');
        insert into public.评论 values (1, '\(anna)', '{"x": "a remark of Anna"}');
        insert into public.posts values (1, '\(anna)', 'of Anna', 'app-key'), (2, '\(bob)', 'of Bob', null);
        insert into public.comments values
            (1, 1, '\(anna)', 'Anna below Anna'), (2, 1, '\(bob)', 'Bob below Anna'), (3, 2, '\(anna)', 'Anna below Bob'),
            (4, 2, '\(bob)', 'Bob below Bob'), (5, 1, null, 'nobody below Anna');
        insert into public.pictures values (1, 1, 'picture of Anna'), (2, 2, 'picture of Bob');
        insert into public.pages values (1, 'of nobody');
        update auth.users set encrypted_password = 'hash of a password', recovery_token = 'a token ' || id,
            raw_user_meta_data = '{"nick": "\\u0001Anna"}';
        insert into auth.sessions (id, user_id) values (gen_random_uuid(), '\(anna)'), (gen_random_uuid(), '\(bob)');
        insert into auth.refresh_tokens (token, user_id, session_id)
            select 'refresh-me ' || id, user_id::text, id from auth.sessions;
        insert into accountctl.holds (user_id, reason, placed_by) values ('\(anna)', 'sealed order', 'olga');
        """

    private func unpack(_ archive: String, _ stage: OperatorStage) throws -> URL {
        let folder = URL(fileURLWithPath: stage.path("unpacked"))
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let tar = Process()
        tar.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        tar.arguments = ["tar", "-xf", archive, "-C", folder.path]
        try tar.run()
        tar.waitUntilExit()
        #expect(tar.terminationStatus == 0)
        return folder
    }

    private func rows(_ table: String, _ folder: URL) throws -> [[String: Any]] {
        let file = try #require(try manifest(folder).tables.first { $0.table == table }?.file)
        let data = try Data(contentsOf: folder.appendingPathComponent(file))
        return try #require(JSONSerialization.jsonObject(with: data) as? [[String: Any]])
    }

    @Test("JSON that is no text to the server takes nobody's archive away, nor the sight of the account")
    func unreadableJSON() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(1)
            try await stage.database.psql(
                #"""
                alter table public.profiles add column settings json, add column motto json, add column tags json;
                update public.profiles set settings = '{"a": "\u0000"}', motto = '"\ud800 x"', tags = '"plain"';
                """#
            )
            let path = stage.path("anna.tar")
            let result = try await stage.run([
                "user", "export", Self.anna, "--output", path, "--without-files", "--reason", "access", "--json",
            ])
            #expect(result.status == 0, "\(result.errors)")
            let whole = try Data(contentsOf: URL(fileURLWithPath: path))
            #expect(whole.range(of: Data(#"{"a": "\u0000"}"#.utf8)) != nil)
            let shown = try await stage.run([
                "user", "show", Self.anna, "--reveal", "--reason", "a test", "--json", "profile",
            ])
            #expect(shown.status == 0, "\(shown.errors)")
            #expect(shown.output.contains("plain"), "\(shown.output)")
        }
    }

    @Test("The archive holds the account's rows and files and nobody else's, no secrets, and sums that are right")
    func contents() async throws {
        try await StorageStage.with { storage in
            let stage = storage.stage
            try await stage.addAccounts(2)
            try await stage.database.psql(Self.fixture)
            try await storage.upload("\(Self.anna)/me too.jpeg", by: Self.anna)
            try await storage.upload("\(Self.bob)/bob.jpeg", by: Self.bob)
            let path = stage.path("anna.tar")
            let result = try await stage.run([
                "user", "export", "u1@example.com", "--output", path, "--reason", "access", "--ticket", "T-9", "--json",
            ])
            #expect(result.status == 0, "\(result.errors)")
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
            #expect(mode as? Int == 0o600)

            let folder = try unpack(path, stage)
            #expect(try rows("public.posts", folder).map { $0["body"] as? String } == ["of Anna"])
            let comments = try rows("public.comments", folder).compactMap { $0["body"] as? String }
            #expect(Set(comments) == ["Anna below Anna", "Anna below Bob", "nobody below Anna"])
            #expect(try rows("public.pictures", folder).map { $0["url"] as? String } == ["picture of Anna"])
            #expect(try rows("auth.sessions", folder).count == 1)
            // Tables whose names have no harmless characters, and one whose column is called as any alias may be.
            #expect(try rows("public.帖子", folder).map { $0["body"] as? String } == ["a post of Anna"])
            let remarks = try rows("public.评论", folder)
            #expect(remarks.map { ($0["t"] as? [String: String])?["x"] } == ["a remark of Anna"], "\(remarks)")
            let files = try FileManager.default.contentsOfDirectory(atPath: folder.path + "/files")
            #expect(files.count == 1)
            let whole = try Data(contentsOf: URL(fileURLWithPath: path))
            for secret in [
                "hash of a password", "a token", "refresh-me", "app-key", "sealed order", "Bob below", "of Bob",
                Self.bob, "bob",
            ] {
                #expect(whole.range(of: Data(secret.utf8)) == nil, "\(secret)")
            }
            try checkManifest(folder)
            let log = "select action, ticket, facts ->> 'files' from accountctl.operator_log"
            #expect(try await stage.database.psql(log) == "user.export|T-9|1")
        }
    }

    private struct Manifest: Decodable {
        struct Entry: Decodable {
            let table: String?
            let key: String?
            let file: String?
            let bytes: Int?
            let sha256: String?
            let leftOut: [String]?
        }
        let account: UUID
        let tables: [Entry]
        let files: [Entry]
    }

    private func manifest(_ folder: URL) throws -> Manifest {
        let data = try Data(contentsOf: folder.appendingPathComponent("manifest.json"))
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(Manifest.self, from: data)
    }

    /// Holds the entries against the bytes of the archive.
    private func checkSums(_ folder: URL) throws -> [Manifest.Entry] {
        let manifest = try manifest(folder)
        let entries = (manifest.tables + manifest.files).filter { $0.file != nil }
        for entry in entries {
            let bytes = try Data(contentsOf: folder.appendingPathComponent(try #require(entry.file)))
            #expect(entry.bytes == bytes.count)
            #expect(entry.sha256 == SHA256.hash(data: bytes).map { String(format: "%02x", $0) }.joined())
        }
        return entries
    }

    private func checkManifest(_ folder: URL) throws {
        let manifest = try manifest(folder)
        #expect(manifest.account.uuidString.lowercased() == Self.anna)
        #expect(manifest.files.map(\.key) == ["\(Self.anna)/me too.jpeg"])
        #expect(try checkSums(folder).count >= 6)
        let leftOut = Dictionary(manifest.tables.map { ($0.table ?? "", $0.leftOut ?? []) }) { first, _ in first }
        #expect(leftOut["auth.users"]?.contains("encrypted_password") == true)
        #expect(leftOut["auth.refresh_tokens"] == ["token", "parent"])
        #expect(leftOut["public.posts"] == ["api_key"])
    }

    @Test("Rows far from the account come along, and none that another key gives to somebody else")
    func farRows() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(2)
            let (own, other) = (OperatorStage.id(1), OperatorStage.id(2))
            var statements = [
                """
                create table public.far_0 (id int primary key, owner uuid references auth.users);
                insert into public.far_0 values (1, '\(own)'), (2, '\(other)'), (3, '\(own)');
                """
            ]
            // So many that a condition written twice for each would be more than a server takes.
            let last = 20
            for level in 1...last {
                statements.append(
                    """
                    create table public.far_\(level) (
                        id int primary key, parent int references public.far_\(level - 1)
                    );
                    insert into public.far_\(level) values (1, 1), (2, 2), (3, 3);
                    """
                )
            }
            statements.append(
                """
                create table public.messages (
                    id int primary key,
                    thread int references public.far_\(last),
                    answers int references public.far_1
                );
                insert into public.messages
                values (1, 1, 3), (2, 1, 2), (3, 1, null), (4, null, 1), (5, null, null), (6, 2, 2), (7, 2, 1);
                """
            )
            try await stage.database.psql(statements.joined())
            let path = stage.path("far.tar")
            let result = try await stage.run(["user", "export", own, "--output", path])
            #expect(result.status == 0, "\(result.errors)")
            let folder = try unpack(path, stage)
            func ids(_ table: String) throws -> [Int] {
                try rows("public.\(table)", folder).compactMap { $0["id"] as? Int }.sorted()
            }
            #expect(try ids("far_\(last)") == [1, 3])
            #expect(try ids("messages") == [1, 3, 4])
        }
    }

    @Test("A file that is there stays, and a run that fails leaves none")
    func wholeOrNotAtAll() async throws {
        try await StorageStage.with { storage in
            let stage = storage.stage
            try await stage.addAccounts(1)
            let path = stage.path("anna.tar")
            try "mine".write(toFile: path, atomically: true, encoding: .utf8)
            let command = ["user", "export", Self.anna, "--output", path]
            let refused = try await stage.run(command)
            #expect(refused.status == 2)
            #expect(refused.errors.contains("is there already"))
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
            // What it does not look at does not stop it.
            let wrong = ["ACCOUNTCTL_MAIL_RESOLVERS": "x", "ACCOUNTCTL_STORAGE_URL": "x"]
            for words in [["user", "export", "--dry-run"], ["deletion", "plan"]] {
                let variables = stage.variables.merging(wrong) { $1 }
                let look = try await AccountctlProcess(words + [Self.anna], environment: variables).result()
                #expect(look.status != 2 && !look.output.isEmpty, "\(look)")
            }
            #expect(try await stage.run(["user", "export", OperatorStage.id(7), "--dry-run"]).status == 3)
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
            let folder = try unpack(stage.path("anna.tar"), stage)
            let sums = try checkSums(folder)
            #expect(Set(sums.compactMap(\.bytes)).isSuperset(of: [0, size]))
        }
    }

    /// The most memory that a process had so far, in kB.
    private static func peakMemory(of process: Int32) -> Int? {
        let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = status?.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }
    }

    @Test("A folder and standard output are no files to write an archive to")
    func paths() async throws {
        try await OperatorStage.with { stage in
            try await stage.addAccounts(1)
            for (path, said) in [
                ("-", "cannot be written to a pipe"), ("", "--output"), (stage.folder.path, "is a folder"),
            ] {
                let words = ["user", "export", Self.anna, "--without-files", "--force", "--output", path]
                let result = try await stage.run(words)
                #expect(result.status == 2 && result.errors.contains(said), "\(path): \(result.errors)")
            }
            #expect(try await stage.database.psql("select count(*) from accountctl.operator_log") == "0")
        }
    }

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
}
