import Foundation
import TestSupport
import Testing

@Suite("Exporting an account", .timeLimit(.minutes(5)))
struct UserExportTests {
    private static let anna = OperatorStage.id(1)
    private static let bob = OperatorStage.id(2)

    /// Tables as apps have them: rows of the account and of its profile, rows below those, and replies of other people.
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

    @Test("The archive holds the account's rows and files and nobody else's, no secrets, and correct checksums")
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

            let archive = try ExportedArchive(path, unpackedIn: stage)
            #expect(try archive.rows("public.posts").map { $0["body"] as? String } == ["of Anna"])
            let comments = try archive.rows("public.comments").compactMap { $0["body"] as? String }
            #expect(Set(comments) == ["Anna below Anna", "Anna below Bob", "nobody below Anna"])
            #expect(try archive.rows("public.pictures").map { $0["url"] as? String } == ["picture of Anna"])
            #expect(try archive.rows("auth.sessions").count == 1)
            // Tables with names that are not ASCII, and a column `t`, which an alias may be called as well.
            #expect(try archive.rows("public.帖子").map { $0["body"] as? String } == ["a post of Anna"])
            let remarks = try archive.rows("public.评论")
            #expect(remarks.map { ($0["t"] as? [String: String])?["x"] } == ["a remark of Anna"], "\(remarks)")
            let files = try FileManager.default.contentsOfDirectory(atPath: archive.folder.path + "/files")
            #expect(files.count == 1)
            let whole = try Data(contentsOf: URL(fileURLWithPath: path))
            for secret in [
                "hash of a password", "a token", "refresh-me", "app-key", "sealed order", "Bob below", "of Bob",
                Self.bob, "bob",
            ] {
                #expect(whole.range(of: Data(secret.utf8)) == nil, "\(secret)")
            }
            try checkManifest(archive)
            let log = "select action, ticket, facts ->> 'files' from accountctl.operator_log"
            #expect(try await stage.database.psql(log) == "user.export|T-9|1")
        }
    }

    private func checkManifest(_ archive: ExportedArchive) throws {
        let manifest = try archive.manifest()
        #expect(manifest.account.uuidString.lowercased() == Self.anna)
        #expect(manifest.files.map(\.key) == ["\(Self.anna)/me too.jpeg"])
        #expect(try archive.checkSums().count >= 6)
        let leftOut = Dictionary(manifest.tables.map { ($0.table ?? "", $0.leftOut ?? []) }) { first, _ in first }
        #expect(leftOut["auth.users"]?.contains("encrypted_password") == true)
        #expect(leftOut["auth.refresh_tokens"] == ["token", "parent"])
        #expect(leftOut["public.posts"] == ["api_key"])
    }

    @Test("Rows many foreign keys away are exported, but none that another key assigns to somebody else")
    func farRows() async throws {
        try await OperatorStage.with(accounts: 2) { stage in
            let (own, other) = (OperatorStage.id(1), OperatorStage.id(2))
            var statements = [
                """
                create table public.far_0 (id int primary key, owner uuid references auth.users);
                insert into public.far_0 values (1, '\(own)'), (2, '\(other)'), (3, '\(own)');
                """
            ]
            // So many levels that a condition repeated twice for each would exceed what a server accepts.
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
            let archive = try ExportedArchive(path, unpackedIn: stage)
            func ids(_ table: String) throws -> [Int] {
                try archive.rows("public.\(table)").compactMap { $0["id"] as? Int }.sorted()
            }
            #expect(try ids("far_\(last)") == [1, 3])
            #expect(try ids("messages") == [1, 3, 4])
        }
    }

    @Test("JSON that the server cannot convert to text breaks neither an export nor the view of the account")
    func unreadableJSON() async throws {
        try await OperatorStage.with(accounts: 1) { stage in
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
}
