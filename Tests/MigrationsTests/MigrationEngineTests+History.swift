import Foundation
import Migrations
import TestSupport
import Testing

/// Files that differ from the recorded history, and bundles that are left out.
extension MigrationEngineTests {
    @Test("An edited file, a newer database and a number lower than those already applied are refused")
    func conflicts() async throws {
        try await TestDatabase.with(.empty) { database in
            let one = try Self.migration(1, "create table t (i int);")
            let three = try Self.migration(3, "create table v (i int);")
            try await Self.up(try Self.set(one, three), database)
            let edited = try Self.set(Self.migration(1, "create table t (j int);"), three)
            let older = try Self.set(one)
            let late = try Self.set(one, Self.migration(2, "create table u (i int);"), three)
            for (set, word) in [(edited, "different text"), (older, "newer version"), (late, "lower number")] {
                let error = await #expect(throws: MigrationError.self) { try await Self.up(set, database) }
                #expect(error?.code == .conflict)
                #expect(error?.message.contains(word) == true)
            }
        }
    }

    @Test("A corrected file counts as applied where the text that it names as replaced was applied")
    func replaced() async throws {
        try await TestDatabase.with(.empty) { database in
            let former = try Self.migration(1, "create table t (i int);")
            try await Self.up(try Self.set(former), database)
            let other = String(repeating: "0", count: 64)
            let head = "bundle=core replaces=\(former.checksum)"
            let corrected = try Self.set(Self.migration(1, "create table t (j int);", head: head))
            #expect(try await Self.up(corrected, database).applied.isEmpty)
            let foreign = try Self.set(
                Self.migration(1, "create table t (j int);", head: "bundle=core replaces=\(other)")
            )
            let error = await #expect(throws: MigrationError.self) { try await Self.up(foreign, database) }
            #expect(error?.code == .conflict)
        }
    }

    @Test("A bundle left out stays out until it is requested, and a requested bundle is completed by a later run")
    func bundles() async throws {
        try await TestDatabase.with(.empty) { database in
            let set = try Self.set(
                Self.migration(1, "create table t (i int);"),
                Self.migration(2, "create table p (i int);", head: "bundle=profiles"),
                Self.migration(3, "create table u (i int);")
            )
            #expect(try await Self.up(set, database, bundles: ["core"]).applied.count == 2)
            #expect(try await Self.up(set, database).applied.isEmpty)
            #expect(try await Self.up(set, database, bundles: ["core", "profiles"]).applied == ["0002_step.sql"])
        }
        try await TestDatabase.with(.empty) { database in
            let broken = try Self.set(
                Self.migration(1, "create table t (i int);"),
                Self.migration(2, "select 1 / 0;", head: "bundle=profiles")
            )
            await #expect(throws: MigrationError.self) { try await Self.up(broken, database) }
            let mended = try Self.set(broken.migrations[0], Self.migration(2, "select 1;", head: "bundle=profiles"))
            #expect(try await Self.up(mended, database).applied == ["0002_step.sql"])
        }
    }

    @Test("A requested bundle of which nothing was applied can be left out; one of which something was cannot")
    func bundleGivenUp() async throws {
        let profiles = try Self.migration(2, "create table p (i int);", head: "bundle=profiles")
        let core = try Self.migration(1, "create table t (i int);")
        try await TestDatabase.with(.empty) { database in
            let broken = try Self.set(Self.migration(1, "select 1 / 0;"), profiles)
            await #expect(throws: MigrationError.self) { try await Self.up(broken, database) }
            let report = try await Self.up(Self.set(core, profiles), database, bundles: ["core"])
            #expect(report.applied == ["0001_step.sql"] && report.bundles == ["core"])
            #expect(try await Self.up(Self.set(core, profiles), database).applied.isEmpty)
        }
        try await TestDatabase.with(.empty) { database in
            let broken = try Self.set(core, profiles, Self.migration(3, "select 1 / 0;", head: "bundle=profiles"))
            await #expect(throws: MigrationError.self) { try await Self.up(broken, database) }
            let error = await #expect(throws: MigrationError.self) {
                try await Self.up(broken, database, bundles: ["core"])
            }
            #expect(error?.code == .refused)
            #expect(error?.message == "profiles cannot be left out, since migrations of it are applied: 2")
        }
    }
}
