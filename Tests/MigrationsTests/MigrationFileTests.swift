import Foundation
import Migrations
import SQLFiles
import TestSupport
import Testing

@Suite("Migration files")
struct MigrationFileTests {
    @Test("The list in the binary equals the folder, file by file and byte by byte")
    func embeddedFiles() throws {
        let folder = try Repository.sqlFiles(in: "sql/migrations")
        #expect(EmbeddedSQL.migrations.map(\.name) == folder.map { URL(fileURLWithPath: $0).lastPathComponent })
        for (file, path) in zip(EmbeddedSQL.migrations, folder) {
            let bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
            #expect(file.bytes() == bytes, "\(file.name) is embedded under a wrong name")
        }
    }

    @Test("Every embedded file is a migration")
    func embeddedSet() throws {
        let set = try MigrationSet.embedded()
        #expect(set.bundles == ["core", "profiles"])
        #expect(set.migrations.first?.name == "foundation")
    }

    @Test("No embedded file ends its own transaction")
    func noTransactionControl() throws {
        for migration in try MigrationSet.embedded().migrations {
            for statement in SQLText.statements(migration.sql) {
                let word = statement.split(whereSeparator: \.isNewline)
                    .first { !$0.hasPrefix("--") }?
                    .split(separator: " ").first?.lowercased()
                #expect(!["begin", "commit", "rollback", "start"].contains(word), "\(migration.fileName)")
            }
        }
    }

    @Test(
        "An invalid name or head is refused",
        arguments: [
            ("1.sql", "-- accountctl: bundle=core\nselect 1"),
            ("0001_Name.sql", "-- accountctl: bundle=core\nselect 1"),
            ("0001_name.txt", "-- accountctl: bundle=core\nselect 1"),
            ("0001_name.sql", "select 1"),
            ("0001_name.sql", "-- accountctl: bundle=\nselect 1"),
            ("0001_name.sql", "-- accountctl: bundle=core no-transaction\nselect 1"),
            ("0001_name.sql", "-- accountctl: bundle=core replaces=4bf25de2\nselect 1"),
        ]
    )
    func refused(_ name: String, _ text: String) {
        #expect(throws: MigrationFileError.self) { try Migration(fileName: name, text: text) }
    }

    @Test("Line ends and trailing white space, which editors change on their own, do not count as a change")
    func checksum() throws {
        func sum(_ text: String) throws -> String { try Migration(fileName: "0001_a.sql", text: text).checksum }
        let plain = try sum("-- accountctl: bundle=core\nselect 1;\n")
        #expect(try sum("-- accountctl: bundle=core\r\nselect 1; \t\r\n\r\n") == plain)
        #expect(try sum("-- accountctl: bundle=core\nselect  1;\n") != plain)
        #expect(plain.count == 64)
    }

    @Test(
        "Statements are told apart",
        arguments: [
            ("select 1; select 2", 2),
            ("select 1;; ;", 1),
            ("-- nothing; here\n/* nor; /* here; */ */", 0),
            ("select ';', \"a;b\", E'\\';', 'it''s;'; select 2", 2),
            ("do $$ begin; perform 1; end $$; select $1$;", 2),
            ("do $tag$ $$;$$ ; $tag$", 1),
            (
                "create function f() returns int begin atomic select case when true then 1 end; select 2; end; select 1",
                2
            ),
            ("begin; select 1; end;", 3),
        ]
    )
    func statements(_ text: String, _ count: Int) {
        #expect(SQLText.statements(text).count == count)
    }

    @Test("Locks on tables outside the product's schema are read off the text")
    func locks() throws {
        let migration = try Migration(
            fileName: "0001_a.sql",
            text: """
                -- accountctl: bundle=core
                create table accountctl.x (id uuid references auth.users (id) on delete cascade);
                -- alter table public.commented add column y int;
                alter table public.profiles add column y int;
                create or replace trigger t after insert on auth.users for each row execute function f();
                create index on public.posts (id);
                """
        )
        #expect(
            migration.locks == [
                TableLock(.shareRowExclusive, on: "auth.users"), TableLock(.share, on: "public.posts"),
                TableLock(.accessExclusive, on: "public.profiles"),
            ]
        )
    }
}
