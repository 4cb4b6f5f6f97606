import Foundation
import Postgres
import TestSupport
import Testing

@testable import AccountLifecycle

/// Tables of any kind, size and name are searched, for one account and for many.
@Suite(.timeLimit(.minutes(5))) struct ResidueSearchTests {
    /// A function takes at most a hundred arguments.
    @Test(arguments: [1, 12]) func aTableOfVeryManyColumnsIsSearched(accounts: Int) async throws {
        try await Stage.with { stage in
            let columns = (1...120).map { "c\($0) text" }.joined(separator: ", ")
            try await stage.sql(Statement(unsafeSQL: "create table public.wide (\(columns))"))
            var people: [Person] = []
            for index in 0..<accounts { people.append(try await stage.signUp("anna\(index)")) }
            try await stage.sql("insert into public.wide (c120) values (\("by " + people[0].email))")
            // Many identifiers are matched in this process, few by the server.
            let targets = people.map { SearchTarget($0) }
            let found = try await SearchPass.run(targets, keptBuckets: [], pool: stage.pool)[0].findings
            #expect(found.map(\.column).filter { $0.hasPrefix("public.wide") } == ["public.wide.c120"])
        }
    }

    /// A number of ten or more digits is not a counter, as a shorter one may be; a table of numbers alone is searched,
    /// too.
    @Test(arguments: [1, 12]) func longNumbersAreFoundInColumnsOfNumbers(accounts: Int) async throws {
        try await Stage.with { stage in
            try await stage.sql("create table public.logins (id bigint primary key, account numeric)")
            try await stage.sql("create table public.calls (id bigint, phone bigint, note text, phones numeric[])")
            // Arrays of these types are cast neither to arrays of numbers nor to arrays of ids.
            try await stage.sql("create domain public.pair as bigint[]")
            try await stage.sql("create domain public.couple as uuid[]")
            try await stage.sql("create table public.lines (pairs public.pair[], couples public.couple[])")
            try await stage.sql("insert into public.lines values (array['{1,4915112345678}'::public.pair], '{}')")
            let ids = (0..<accounts).map { "11538203495678901234\($0)" }
            try await stage.sql("insert into public.logins values (1234567, \(ids[0])::text::numeric), (2, 7)")
            try await stage.sql(
                """
                insert into public.calls values
                    (12345678, 4915112345678, 'x', '{1,4915112345678}'), (2, 14915112345678, 'y', '{14915112345678}')
                """
            )
            let targets = ids.map { id in
                SearchTarget(
                    request: UUID(),
                    userID: UUID(),
                    identifiers: [Identifier(providerID: id), Identifier(phone: "+49 151 12345678")].compactMap(\.self)
                        + [Identifier(phone: "1234567"), Identifier(providerID: "12345678")].compactMap(\.self)
                )
            }
            let found = try await SearchPass.run(targets, keptBuckets: [], pool: stage.pool)[0].findings
            let columns = ["calls.phone", "calls.phones", "lines.pairs", "logins.account"]
            #expect(found.map(\.column) == columns.map { "public." + $0 })
            #expect(found.map(\.count) == [1, 1, 1, 1])
        }
    }

    /// Long rows are read in pieces: a match across two pieces is found once, and judged by the characters around it.
    @Test(arguments: [1, 12]) func aLongRowIsSearchedToItsEnd(accounts: Int) async throws {
        try await Stage.with { stage in
            let addresses = (0..<accounts).map { "anna\($0)@example.com" }
            try await stage.sql("create table public.documents (number int, note text, body text, ids uuid[])")
            let mebibyte = 1 << 20
            for (filler, sign, length) in [
                ("x", " ", 3 * mebibyte), ("é", "”", 15 * mebibyte), ("x", " ", mebibyte - 6),
                ("x", " ", 2 * mebibyte - 1),
                // Somebody else's address.
                ("x", "", mebibyte), ("x", "", 2 * mebibyte - 7),
            ] {
                try await stage.sql(
                    """
                    insert into public.documents
                    values (1, 'short', repeat(\(filler), \(Int32(length))) || \(sign) || \(addresses[0]), null)
                    """
                )
            }
            let targets = addresses.map { address in
                SearchTarget(
                    request: UUID(),
                    userID: UUID(),
                    identifiers: [Identifier(email: address), Identifier(providerID: "of \(address)")]
                        .compactMap(\.self)
                )
            }
            try await stage.sql(
                """
                insert into public.documents (note, ids)
                select repeat('x', 100), array_agg(gen_random_uuid()) || \(targets[0].userID)
                from generate_series(1, 100000)
                """
            )
            let found = try await SearchPass.run(targets, keptBuckets: [], pool: stage.pool)[0].findings
            #expect(found.map(\.column) == ["public.documents.body", "public.documents.ids"])
            #expect(found.map(\.count) == [4, 1])
        }
    }

    /// The server compares names byte by byte: an accent on a quotation mark, or one spelled in two ways, means nothing
    /// to it.
    @Test(arguments: [1, 12]) func tablesOfAnyNameAreSearched(accounts: Int) async throws {
        try await Stage.with { stage in
            for (index, name) in ["\"t\"\"\u{301}\"", "\"caf\u{E9}\"", "\"cafe\u{301}\""].enumerated() {
                try await stage.sql(Statement(unsafeSQL: "create table public.\(name) (note\(index) text)"))
                try await stage.sql(Statement(unsafeSQL: "insert into public.\(name) values ('anna@example.com')"))
            }
            let targets = (0..<accounts).map { index in
                SearchTarget(
                    request: UUID(),
                    userID: UUID(),
                    identifiers: [Identifier(email: index == 0 ? "anna@example.com" : "anna\(index)@example.com")]
                        .compactMap(\.self)
                )
            }
            let search = IdentifierSearch(targets)
            let report = try await stage.pool.withConnection { connection in
                try await search.run(try SearchCatalog.read(on: connection).tables, on: connection)
            }
            let columns = Set((report.findings[targets[0].request] ?? []).map(\.column))
            #expect(columns == ["public.t\"\u{301}.note0", "public.caf\u{E9}.note1", "public.cafe\u{301}.note2"])
        }
    }

    /// A pass may take half an hour and serves many requests, while tables come and go.
    @Test func tablesThatChangeDuringAPassAreSearchedAsTheyAreThen() async throws {
        try await Stage.with { stage in
            let email = "anna@example.com"
            for table in ["dropped", "renamed", "changed"] {
                try await stage.sql("create table public.\(identifier: table) (mail text, other text)")
                try await stage.sql("insert into public.\(identifier: table) values (\(email))")
            }
            let catalog = try await stage.pool.withConnection { try SearchCatalog.read(on: $0) }
            try await stage.sql("drop table public.dropped")
            try await stage.sql("alter table public.renamed rename to moved")
            try await stage.sql("alter table public.changed drop column other")
            let identifiers = [Identifier(email: email)].compactMap(\.self)
            let search = IdentifierSearch([SearchTarget(request: UUID(), userID: UUID(), identifiers: identifiers)])
            let report = try await stage.pool.withConnection { try await search.run(catalog.tables, on: $0) }
            #expect(report.findings.values.joined().map(\.column) == ["public.changed.mail", "public.moved.mail"])
        }
    }

    /// A new table under the old name holds nothing: the renamed table is searched as well, and so are new tables.
    ///
    /// What was found before a table was renamed is told under the new name alone.
    @Test func whatLosesItsNameDuringAPassIsSearchedStill() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            for table in ["notes_0", "notes_b", "notes_c", "notes_d", "notes_e"] {
                try await stage.sql("create table public.\(identifier: table) (note text, other text)")
                if table == "notes_b" { continue }
                try await stage.sql("insert into public.\(identifier: table) (note) values (\(person.email))")
            }
            try await stage.sql("update public.notes_d set other = note")
            let target = SearchTarget(person)
            let pass = try await stage.admin.withTransaction { connection in
                try connection.execute("lock table public.notes_b in access exclusive mode")
                let pass = Task { try await SearchPass.run([target], keptBuckets: [], pool: stage.pool)[0].findings }
                try await connection.waitUntilSomebodyIsBlocked()
                for statement in [
                    "alter table public.notes_0 rename to notes_z",
                    "alter table public.notes_c rename to notes_a",
                    "create table public.notes_c (note text, other text)",
                    "alter table public.notes_d rename note to former", "alter table public.notes_d add note text",
                    "create table public.notes_f as table public.notes_e", "drop table public.notes_e",
                ] as [Statement] { try connection.execute(statement) }
                return pass
            }
            let found = try await pass.value.filter { $0.column.hasPrefix("public.notes") }
            let columns = ["notes_a.note", "notes_d.former", "notes_d.other", "notes_f.note", "notes_z.note"]
            #expect(found.map(\.column) == columns.map { "public." + $0 })
        }
    }

    /// New tables are searched, but an app that creates some all the time does not keep a pass from its end.
    ///
    /// Each new table is locked until the pass waits for it and the next one is there: every reading of the catalog finds
    /// one more, and the twentieth is the last.
    @Test func aPassEndsWhileTablesAreCreated() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let target = SearchTarget(person)
            try await create(0, stage, naming: person)
            let found = try await stage.database.withConnection(asAdministrator: true) { one in
                try await stage.database.withConnection(asAdministrator: true) { other in
                    let holders = [one, other]
                    try await lock(0, by: one)
                    let pass = Task {
                        try await SearchPass.run([target], keptBuckets: [], pool: stage.pool)[0].findings
                    }
                    for number in 0..<20 {
                        let holder = holders[number % 2]
                        try await holder.waitUntilSomebodyIsBlocked()
                        try await create(number + 1, stage, naming: person)
                        if number < 19 { try await lock(number + 1, by: holders[(number + 1) % 2]) }
                        try await holder.execute("commit")
                    }
                    return try await pass.value
                }
            }
            let columns = found.map(\.column).filter { $0.hasPrefix("public.new_") }
            #expect(Set(columns) == Set((0..<20).map { "public.new_\($0).note" }))
        }
    }

    private func create(_ number: Int, _ stage: Stage, naming person: Person) async throws {
        try await stage.sql("create table public.\(identifier: "new_\(number)") (note text)")
        try await stage.sql("insert into public.\(identifier: "new_\(number)") values (\(person.email))")
    }

    private func lock(_ number: Int, by holder: Connection) async throws {
        try await holder.execute("begin")
        try await holder.execute("lock table public.\(identifier: "new_\(number)") in access exclusive mode")
    }

    @Test func manyAccountsAreSearchedForTogether() async throws {
        try await Stage.with { stage in
            try await stage.sql("create table public.kept (note text, longer text)")
            var people: [Person] = []
            for index in 0..<12 { people.append(try await stage.signUp("anna\(index)")) }
            try await stage.sql("insert into public.kept values (\("by " + people[3].email), \("x" + people[4].email))")
            try await stage.sql("insert into public.kept values (\(people[7].id.uuidString), '')")
            let targets = people.map { person in
                SearchTarget(
                    request: person.id,
                    userID: person.id,
                    identifiers: [Identifier(email: person.email)].compactMap(\.self)
                )
            }
            // The server matches few identifiers, while many are matched in the streamed rows: both must find the same
            // in our table.
            let together = try await SearchPass.run(targets, keptBuckets: [], pool: stage.pool)
            for (index, target) in targets.enumerated() {
                let alone = try await SearchPass.run([target], keptBuckets: [], pool: stage.pool)[0].findings
                #expect(alone == together[index].findings, "account \(index)")
                let columns = alone.map(\.column).filter { $0.hasPrefix("public.kept") }
                #expect(columns == (index == 3 || index == 7 ? ["public.kept.note"] : []))
            }
        }
    }
}
