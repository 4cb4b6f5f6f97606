import Foundation
import Postgres
import TestSupport
import Testing

@testable import AccountLifecycle

@Suite(.timeLimit(.minutes(5))) struct ResidueTests {
    /// One table that keeps each form, in each kind of column; nothing refers to the account by a key.
    @Test func everyFormInEveryKindOfColumnIsFoundAndNamed() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            for statement in Self.plants { try await stage.sql(Statement(unsafeSQL: Self.filled(statement, person))) }
            let request = try await stage.request(person)
            try await stage.drive(request)
            #expect(try await stage.state(request) == "residue")
            let findings = try #require(try await stage.situation(request)?.findings)
            #expect(
                Dictionary(uniqueKeysWithValues: findings.map { ($0.column, $0.identifiers) }) == [
                    "public.kept.reference": [.userID], "public.kept.document": [.userID],
                    "public.kept.path": [.userID],
                    "public.kept.note": [.userID], "public.kept.compact": [.userID], "public.kept.ids": [.userID],
                    "public.kept.domain": [.userID], "public.kept.mail": [.email], "public.kept.sub": [.providerID],
                    "public.kept.tags": [.email], "public.kept_view.note": [.userID],
                    "public.log_2026.note": [.userID],
                ]
            )
            // Somebody else's longer address, and bytes that nobody can read, are not among them.
            #expect(!findings.contains { $0.column.hasSuffix("longer") })
            try await stage.sql("drop table public.kept cascade")
            try await stage.sql("drop table public.log")
            #expect(try await stage.drive(request) == .ended(.verified))
            let unreadable = try await stage.value(
                """
                select (facts -> 'unreadable')::text
                from accountctl.deletion_steps
                where request_id = \(request) and step = 'verify'
                """,
                as: String.self
            )
            #expect(unreadable.contains("public.blobs.data"))
        }
    }

    /// What is known no more cannot be searched for, and what is accepted stays: one does not hide the other.
    @Test func anErasureByTheUserIDAloneTellsThatItIsLeftInAcceptedColumns() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            try await stage.sql("create table public.invoices (id int, buyer text)")
            try await stage.sql("insert into public.invoices values (1, \(person.text))")
            let request = try await stage.request(person)
            try await stage.sql("delete from auth.users where id = \(person.id)")
            let desk = stage.desk
            _ = try await stage.pool.withConnection { connection in
                try await desk.accept("public.invoices.buyer", reason: "kept ten years by law", on: connection)
            }
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.proofs(of: request) == Array(repeating: "user_id_only_accepted", count: 3))
            let limits = try await stage.value(
                "select document ->> 'outOfScope' from accountctl.deletion_receipts",
                as: String.self
            )
            #expect(limits.contains("only the user id was searched for") && limits.contains("public.invoices.buyer"))
        }
    }

    @Test func anAcceptedColumnNoLongerStandsInTheWayAndTheReceiptNamesIt() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            try await stage.sql("create table public.invoices (id int, buyer text)")
            try await stage.sql("insert into public.invoices values (1, \(person.email))")
            let request = try await stage.request(person)
            try await stage.drive(request)
            #expect(try await stage.state(request) == "residue")
            let desk = stage.desk
            let waiting = try await stage.pool.withConnection { connection in
                try await desk.accept("public.invoices.buyer", reason: "kept ten years by law", on: connection)
            }
            #expect(waiting == 1)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.outcome(.verify, request) == "accepted")
            let receipt = try await stage.value(
                "select document::text from accountctl.deletion_receipts",
                as: String.self
            )
            #expect(receipt.contains("left there by decision"))
            #expect(try await stage.proofs(of: request) == ["accepted", "accepted", "accepted"])
            #expect(!receipt.contains(person.email))
        }
    }

    /// A search names the partition, and each year brings one more.
    @Test func aColumnOfAPartitionedTableIsAcceptedForItsPartitions() async throws {
        try await Stage.with { stage in
            for statement in [
                "create table public.invoices (year int, buyer uuid) partition by range (year)",
                "create table public.invoices_2025 partition of public.invoices for values from (2025) to (2026)",
                """
                create table public.invoices_late partition of public.invoices for values from (2026) to (2030)
                partition by range (year)
                """,
            ] { try await stage.sql(Statement(unsafeSQL: statement)) }
            let person = try await stage.signUp()
            let desk = stage.desk
            _ = try await stage.pool.withConnection { connection in
                try await desk.accept("public.invoices.buyer", reason: "kept ten years by law", on: connection)
            }
            try await stage.sql(
                "create table public.invoices_2026 partition of public.invoices_late for values from (2026) to (2027)"
            )
            try await stage.sql("insert into public.invoices values (2025, \(person.id)), (2026, \(person.id))")
            let request = try await stage.request(person)
            #expect(try await stage.drive(request) == .ended(.verified))
            #expect(try await stage.outcome(.verify, request) == "accepted")
        }
    }

    /// What somebody writes into one column does not hide the name of another, which an operator has to type.
    @Test func controlCharactersInARowHideNoColumn() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            try await stage.sql("create table public.invoices (note text, buyer text)")
            try await stage.sql("insert into public.invoices values (\("a\u{1F}b\u{1F}"), \(person.email + "\u{1F}"))")
            let request = try await stage.request(person)
            try await stage.drive(request)
            #expect(try await stage.situation(request)?.findings?.map(\.column) == ["public.invoices.buyer"])
        }
    }

    /// The address is free again once the rows are gone, and a pass may take half an hour.
    @Test func whoSignsUpAgainWhileTablesAreSearchedIsNoResidue() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp(apple: false)
            try await stage.sql("create table public.letters (author uuid, address text)")
            let request = try await stage.request(person)
            try await stage.driveToCrash(request, SimulatedCrash.once(at: .after(.scrubAuth)))
            let drive = try await stage.admin.withTransaction { connection in
                try connection.execute("lock table public.letters in access exclusive mode")
                let drive = Task { try await stage.drive(request) }
                try await connection.waitUntilSomebodyIsBlocked()
                try connection.execute(
                    """
                    with again as (
                        insert into auth.users (id, email, created_at)
                        values (gen_random_uuid(), \(person.email), clock_timestamp())
                        returning id, email
                    )
                    insert into public.letters select id, email from again
                    """
                )
                return drive
            }
            #expect(try await drive.value == .ended(.verified))
        }
    }

    /// As programs write an address into URLs, URLs within URLs and JSON.
    @Test(arguments: [
        "https://app.test/reset?email=%22anna%2Btag%40example.com%22",
        "https://app.test/reset?email=anna+tag%40example.com",
        "https://app.test/in?next=%2Freset%3Femail%3Danna%252Btag%2540example.com",
        #"{"to": "anna\u002Btag@example.com"}"#,
        "メールはanna+tag@example.comです",
    ])
    func anAddressIsFoundAmongWhatSurroundsIt(_ text: String) async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp(email: "anna+tag@example.com")
            try await stage.sql("create table public.letters (body text)")
            try await stage.sql("insert into public.letters values (\(text))")
            let request = try await stage.request(person)
            try await stage.drive(request)
            #expect(try await stage.situation(request)?.findings?.map(\.column) == ["public.letters.body"])
        }
    }

    /// Otherwise whoever names somebody else's address there had all rows with that address taken for their own.
    @Test func whatAnybodyMaySayOfThemselvesIsNotSearchedFor() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            try await stage.sql("create table public.letters (body text)")
            try await stage.sql("insert into public.letters values ('Write to support@example.com or +49 30 12345678')")
            try await stage.sql(
                """
                update auth.users
                set raw_user_meta_data = '{"email": "support@example.com"}',
                    email_change = 'support@example.com',
                    phone_change = '493012345678'
                where id = \(person.id)
                """
            )
            let request = try await stage.request(person)
            #expect(try await stage.drive(request) == .ended(.verified))
        }
    }

    /// The log only grows: a name that an earlier version took is found, and somebody decides whether it is kept.
    @Test func anOperatorsNameThatIsAnAddressStandsInTheWayUntilItIsAccepted() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            try await stage.sql("select accountctl.log_operation(\(person.email), 'jobs.pause')")
            let request = try await stage.request(person)
            try await stage.drive(request)
            #expect(
                try await stage.situation(request)?.findings?.map(\.column) == ["accountctl.operator_log.operator"]
            )
            let desk = stage.desk
            _ = try await stage.pool.withConnection { connection in
                try await desk.accept("accountctl.operator_log.operator", reason: "who acted is kept", on: connection)
            }
            #expect(try await stage.drive(request) == .ended(.verified))
        }
    }

    /// Realtime has the claims of a connected app's token, until the connection ends with it.
    @Test(arguments: [DeletionPoint.before(.settle), .after(.settle)])
    func aConnectionOfBeforeIsLookedForAtTheEnd(_ closing: DeletionPoint) async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            try await stage.admin.withConnection { connection in
                try connection.script(
                    unsafeSQL: """
                        create schema realtime;
                        create table realtime.subscription (id bigint, claims jsonb);
                        grant usage on schema realtime to postgres;
                        insert into realtime.subscription values (1, '{"sub": "\(person.text)"}');
                        """
                )
            }
            let request = try await stage.request(person)
            let end = try await stage.drive(request) { point in
                if point == closing { try await stage.sql("delete from realtime.subscription") }
            }
            if closing == .before(.settle) {
                #expect(end == .ended(.verified))
            } else {
                #expect(try await stage.situation(request)?.findings?.map(\.column) == ["realtime.subscription.claims"])
            }
        }
    }

    /// Anybody may give a file of theirs any name: that keeps nobody's erasure from its end, and is told.
    @Test func filesOfOthersThatNameTheAccountAreTheirs() async throws {
        try await Stage.with { stage in
            let person = try await stage.fullAccount()
            let other = try await stage.signUp("ben")
            try await stage.sql(
                """
                insert into storage.objects (bucket_id, name, owner, owner_id)
                values ('avatars', \("of-\(person.text).png"), \(other.id), \(other.text))
                """
            )
            // One that is still being uploaded is no other case.
            try await stage.sql(
                """
                with upload as (
                    insert into storage.s3_multipart_uploads (id, upload_signature, bucket_id, key, version, owner_id)
                    values ('1', '', 'avatars', \("of-\(person.text).mov"), '1', \(other.text))
                )
                insert into storage.s3_multipart_uploads_parts (upload_id, part_number, bucket_id, key, etag, version, owner_id)
                values ('1', 1, 'avatars', \("of-\(person.text).mov"), '', '1', \(other.text))
                """
            )
            let request = try await stage.request(person)
            #expect(try await stage.drive(request) == .ended(.verified))
            let told = try await stage.value(
                "select document::text from accountctl.deletion_receipts",
                as: String.self
            )
            #expect(told.contains("files that other accounts own"), "\(told)")
            // Of nobody, or of somebody who is gone, it is residue.
            let next = try await stage.signUp("cleo")
            try await stage.sql(
                """
                insert into storage.objects (bucket_id, name, owner, owner_id)
                values ('avatars', \("of-\(next.text).png"), \(person.id), \(person.text))
                """
            )
            try await stage.sql(
                """
                insert into storage.objects (bucket_id, name, owner, owner_id)
                values ('avatars', \("and-\(next.text).png"), \(other.id), \(other.text))
                """
            )
            let second = try await stage.request(next)
            try await stage.drive(second)
            #expect(try await stage.state(second) == "residue")
            let situation = try #require(try await stage.situation(second))
            #expect(situation.findings?.contains { $0.column == "storage.objects.name" } == true)
            #expect(situation.detail?.contains("files that other accounts own") == true)
        }
    }

    /// A function takes a hundred arguments at most.
    @Test(arguments: [1, 12]) func aTableOfVeryManyColumnsIsSearched(accounts: Int) async throws {
        try await Stage.with { stage in
            let columns = (1...120).map { "c\($0) text" }.joined(separator: ", ")
            try await stage.sql(Statement(unsafeSQL: "create table public.wide (\(columns))"))
            var people: [Person] = []
            for index in 0..<accounts { people.append(try await stage.signUp("anna\(index)")) }
            try await stage.sql("insert into public.wide (c120) values (\("by " + people[0].email))")
            // Many identifiers are looked for here, few by the server.
            let targets = people.map { person in
                SearchTarget(
                    request: person.id,
                    userID: person.id,
                    identifiers: [
                        Identifier(email: person.email), Identifier(phone: "49301234\(person.email.utf8.count)"),
                    ]
                    .compactMap(\.self)
                )
            }
            let found = try await SearchPass.run(targets, keptBuckets: [], pool: stage.pool)[0].findings
            #expect(found.map(\.column).filter { $0.hasPrefix("public.wide") } == ["public.wide.c120"])
        }
    }

    /// Ten digits and more are nobody's counter, as fewer may be; a table of numbers alone is searched, too.
    @Test(arguments: [1, 12]) func longNumbersAreFoundInColumnsOfNumbers(accounts: Int) async throws {
        try await Stage.with { stage in
            try await stage.sql("create table public.logins (id bigint primary key, account numeric)")
            try await stage.sql("create table public.calls (id bigint, phone bigint, note text, phones numeric[])")
            // Cast to no array of numbers, nor of ids.
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

    /// They are found by reading all accounts, which has the time of a table's search, and not that of a short
    /// statement.
    @Test func otherHoldersAreFoundHoweverLongThatTakes() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp(apple: false)
            var own = PoolConfiguration(connection: ConnectionConfiguration(conninfo: stage.database.conninfo))
            own.connection.statementDeadline = .seconds(1)
            own.connection.sessionSettings = ["jit": "off"]
            let target = SearchTarget(
                request: UUID(),
                userID: UUID(),
                identifiers: [Identifier(email: person.email)].compactMap(\.self)
            )
            let holders = try await Pool.withPool(own, logger: .silent) { pool in
                // As long as very many accounts would take.
                let finding = try await stage.admin.withTransaction { connection in
                    try connection.execute("lock table auth.users")
                    let finding = Task {
                        try await pool.withConnection { try IdentifierHolders.find([target], on: $0) }
                    }
                    try await eventually("the search takes longer than a short statement may", within: .seconds(60)) {
                        try await stage.count(
                            """
                            select from pg_stat_activity
                            where datname = current_database() and wait_event_type = 'Lock'
                              and clock_timestamp() - query_start > '1.5 seconds'
                            """
                        ) > 0
                    }
                    return finding
                }
                return try await finding.value
            }
            #expect(Array(holders.values) == [[person.id]])
        }
    }

    @Test func theReceiptTellsWhatIsNotFound() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp(apple: false)
            try await stage.sql(
                """
                insert into auth.identities (provider_id, user_id, identity_data, provider)
                values ('583231', \(person.id), '{"sub": "583231"}', 'github')
                """
            )
            let request = try await stage.request(person)
            #expect(try await stage.drive(request) == .ended(.verified))
            let receipt = try await stage.value(
                "select document::text from accountctl.deletion_receipts",
                as: String.self
            )
            #expect(receipt.contains(#""unsearchable": 1"#), "\(receipt)")
            for limit in ["fewer than eight characters", "in caches", "code of their country", "columns of ranges"] {
                #expect(receipt.contains(limit))
            }
        }
    }

    /// Long rows come in pieces: what lies across two is found once, and judged by what stands beside it.
    @Test(arguments: [1, 12]) func aLongRowIsSearchedToItsEnd(accounts: Int) async throws {
        try await Stage.with { stage in
            let addresses = (0..<accounts).map { "anna\($0)@example.com" }
            try await stage.sql("create table public.documents (number int, note text, body text, ids uuid[])")
            let mebibyte = 1 << 20
            for (filler, sign, length) in [
                ("x", " ", 3 * mebibyte), ("é", "”", 15 * mebibyte), ("x", " ", mebibyte - 6),
                ("x", " ", 2 * mebibyte - 1),
                // Somebody else's.
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

    /// The server tells names apart by bytes: an accent on a quotation mark, or spelled in two ways, is nothing to it.
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
                try search.run(try SearchCatalog.read(on: connection).tables, on: connection)
            }
            let columns = Set((report.findings[targets[0].request] ?? []).map(\.column))
            #expect(columns == ["public.t\"\u{301}.note0", "public.caf\u{E9}.note1", "public.cafe\u{301}.note2"])
        }
    }

    /// A pass may take half an hour, and serves many: tables come and go meanwhile.
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
            let report = try await stage.pool.withConnection { try search.run(catalog.tables, on: $0) }
            #expect(report.findings.values.joined().map(\.column) == ["public.changed.mail", "public.moved.mail"])
        }
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
            // Few identifiers are looked for by the server, many are streamed: both must find the same in our table.
            let together = try await SearchPass.run(targets, keptBuckets: [], pool: stage.pool)
            for (index, target) in targets.enumerated() {
                let alone = try await SearchPass.run([target], keptBuckets: [], pool: stage.pool)[0].findings
                #expect(alone == together[index].findings, "account \(index)")
                let columns = alone.map(\.column).filter { $0.hasPrefix("public.kept") }
                #expect(columns == (index == 3 || index == 7 ? ["public.kept.note"] : []))
            }
        }
    }

    private static func filled(_ text: String, _ person: Person) -> String {
        text.replacingOccurrences(of: "{id}", with: person.text)
            .replacingOccurrences(of: "{ID}", with: person.id.uuidString)
            .replacingOccurrences(of: "{compact}", with: person.id.uuidString.replacingOccurrences(of: "-", with: ""))
            .replacingOccurrences(of: "{email}", with: person.email)
            .replacingOccurrences(of: "{sub}", with: person.sub ?? "")
    }

    private static let plants = [
        "create domain public.reference as uuid",
        """
        create table public.kept (
            reference uuid, document jsonb, path text, note text, compact varchar(64), ids uuid[], domain public.reference,
            mail text, sub text, tags text[], longer text
        )
        """,
        "insert into public.kept (reference) values ('{id}')",
        #"insert into public.kept (document) values ('{"a": [{"by": "{id}"}]}')"#,
        "insert into public.kept (path) values ('users/{id}/me.jpeg')",
        "insert into public.kept (note) values ('written by {id} in May')",
        "insert into public.kept (compact) values ('{compact}')",
        "insert into public.kept (ids) values (array['{id}'::uuid])",
        "insert into public.kept (domain) values ('{id}')",
        "insert into public.kept (mail) values ('To: <{email}>')",
        "insert into public.kept (sub) values ('{sub}')",
        "insert into public.kept (tags) values (array['x', '{email}'])",
        "insert into public.kept (longer) values ('jo{email}')",
        "create materialized view public.kept_view as select note from public.kept where note is not null",
        "create table public.log (at date, note text) partition by range (at)",
        "create table public.log_2026 partition of public.log default",
        "insert into public.log values ('2026-05-01', '{ID}')",
        "create table public.blobs (data bytea)",
    ]
}
