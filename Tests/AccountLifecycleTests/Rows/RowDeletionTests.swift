import AccountLifecycle
import Foundation
import Logging
import Postgres
import TestSupport
import Testing

/// All rows of an account are deleted, however many there are and whatever table they are in, and no others.
@Suite(.timeLimit(.minutes(5))) struct RowDeletionTests {
    @Test func anUnrelatedProfilesTableIsLeftAlone() async throws {
        try await Stage.with { stage in
            try await stage.sql("drop table public.profiles cascade")
            try await stage.sql("create table public.profiles (id int primary key, avatar_url text, owner uuid)")
            try await stage.sql("insert into public.profiles values (1, 'x', null)")
            let person = try await stage.signUpWithoutProfile()
            try await stage.erase(person)
            #expect(try await stage.count("select from public.profiles") == 1)
        }
    }

    @Test func manyRowsGoInBatches() async throws {
        try await Stage.with { stage in
            try await stage.createPosts()
            let person = try await stage.signUp()
            let other = try await stage.signUp("berta")
            try await stage.addPosts(2500, of: person)
            try await stage.addPosts(100, of: other)
            var policy = Stage.swift
            policy.batchRows = 1000
            let request = try await stage.erase(person, policy)
            #expect(try await stage.count("select from public.posts") == 100)
            #expect(try await stage.counts(of: .deleteRows, request)["batched_rows"] == 2500)
        }
    }

    /// A migration of the app gives the name of a key's column to another column, while batches are deleted, or before
    /// the rows that go ahead of the account are deleted.
    @Test(arguments: [(DeletionPoint.between(.deleteRows), 100), (DeletionPoint.middle(.deleteRows), 5000)])
    func aColumnThatTookTheNameOfAKeysTellsOfNoRow(_ point: DeletionPoint, _ batchRows: Int) async throws {
        try await Stage.with { stage in
            try await stage.createLetters()
            let person = try await stage.signUp()
            let other = try await stage.signUp("berta")
            try await stage.sql("insert into public.letters select g, \(person.id) from generate_series(1, 250) as g")
            try await stage.sql("insert into public.letters select g, \(other.id) from generate_series(251, 300) as g")
            try await stage.sql("analyze public.letters")
            var policy = Stage.swift
            policy.batchRows = batchRows
            let request = try await stage.request(person)
            let pause = try await stage.drive(request, policy, once: point) {
                // From now on, the author is the addressee of a letter.
                try await stage.reuseName(of: "author", in: "letters", renaming: "sender")
                try await stage.sql("update public.letters set author = \(person.id) where sender = \(other.id)")
            }
            #expect(pause == .ended(.verified))
            #expect(try await stage.count("select from public.letters where sender = \(other.id)") == 50)
            #expect(try await stage.count("select from public.letters") == 50)
        }
    }

    /// The same for the key of a profile: the profile is deleted by it, and nothing else has to go ahead of the
    /// account.
    @Test func aColumnThatTookTheNameOfAProfilesKeyTellsOfNoProfile() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let other = try await stage.signUp("berta")
            let request = try await stage.request(person)
            let pause = try await stage.drive(request, once: .middle(.deleteRows)) {
                // From now on, the id is that of the person who has invited somebody.
                try await stage.reuseName(of: "id", in: "profiles", renaming: "account")
                try await stage.sql("update public.profiles set id = \(person.id) where account = \(other.id)")
            }
            #expect(pause == .ended(.verified))
            #expect(try await stage.count("select from public.profiles where account = \(other.id)") == 1)
            #expect(try await stage.count("select from public.profiles") == 1)
        }
    }

    /// The plan is made anew each time, but an app that changes its tables all the time does not keep an attempt from its
    /// end; its failures add up, so that somebody is told.
    @Test func anAttemptEndsWhereTablesChangeAllTheTime() async throws {
        try await Stage.with { stage in
            let request = try await stage.request(try await stage.signUp())
            let changes = Counter()
            let changing: DeletionProbe = { point in
                guard point == .middle(.deleteRows) else { return }
                let former = changes.value == 0 ? "id" : "id\(changes.value)"
                changes.add()
                let new = "id\(changes.value)"
                try await stage.sql("alter table public.profiles rename \(identifier: former) to \(identifier: new)")
            }
            for attempt in 1...2 {
                let pause = try await stage.drive(request, probe: changing)
                let told = Situation(.failing, detail: "the app's tables keep changing during delete_rows")
                #expect(pause == .failed(after: .seconds(30 * attempt), told))
                #expect(changes.value == 6 * attempt)
                let failures: Statement = "select failures from accountctl.deletion_requests"
                #expect(try await stage.value(failures, as: Int.self) == attempt)
            }
            #expect(try await stage.drive(request) == .ended(.verified))
        }
    }

    @Test func aTableThatWasDroppedMeanwhileIsNotInTheWay() async throws {
        try await Stage.with { stage in
            try await stage.createLetters()
            let request = try await stage.request(try await stage.signUp())
            let pause = try await stage.drive(request, once: .middle(.deleteRows)) {
                try await stage.sql("drop table public.letters")
            }
            #expect(pause == .ended(.verified))
        }
    }

    /// Rows that refer to them are deleted with the account as well: the profile refers to a post, and each comment to
    /// another one, in a circle.
    @Test(arguments: ["", "deferrable initially deferred"])
    func manyRowsThatNoBatchMayTakeGoWithTheAccount(_ moment: String) async throws {
        try await Stage.with { stage in
            for statement in [
                "create table public.posts (id int primary key, author uuid references auth.users on delete cascade)",
                "alter table public.profiles add pinned_post int references public.posts \(moment)",
                """
                create table public.comments (
                    id int primary key,
                    author uuid references auth.users on delete cascade,
                    parent int references public.comments \(moment)
                )
                """,
                "create index on public.posts (author)",
                "create index on public.profiles (pinned_post)",
                "create index on public.comments (author)",
                "create index on public.comments (parent)",
                "grant select, delete on public.posts, public.comments to postgres",
            ] { try await stage.sql(Statement(unsafeSQL: statement)) }
            let person = try await stage.signUp()
            try await stage.sql("insert into public.posts select g, \(person.id) from generate_series(1, 2500) as g")
            try await stage.sql("update public.profiles set pinned_post = 1 where id = \(person.id)")
            try await stage.sql(
                """
                insert into public.comments
                select g, \(person.id), g % 2500 + 1
                from generate_series(1, 2500) as g
                """
            )
            try await stage.sql("analyze public.posts, public.comments")
            var policy = Stage.swift
            policy.batchRows = 1000
            try await stage.erase(person, policy)
            #expect(try await stage.count("select from public.posts") == 0)
            #expect(try await stage.count("select from public.comments") == 0)
        }
    }

    /// Only the partitions have statistics.
    @Test func manyRowsOfAPartitionedTableGoInBatches() async throws {
        try await Stage.with { stage in
            try await stage.sql(
                """
                create table public.posts (id int, author uuid references auth.users on delete cascade)
                partition by range (id)
                """
            )
            try await stage.sql("create table public.early partition of public.posts for values from (0) to (1000)")
            try await stage.sql("create table public.late partition of public.posts default")
            try await stage.sql("create index on public.posts (author)")
            try await stage.sql("grant select, delete on public.posts to postgres")
            let person = try await stage.signUp()
            try await stage.sql("insert into public.posts select g, \(person.id) from generate_series(1, 2500) as g")
            try await stage.sql("analyze public.early")
            try await stage.sql("analyze public.late")
            var policy = Stage.swift
            policy.batchRows = 1000
            let request = try await stage.erase(person, policy)
            #expect(try await stage.counts(of: .deleteRows, request)["batched_rows"] == 2500)
        }
    }

    /// As after an upgrade of the server's major version, which leaves the statistics behind: too many rows stop the
    /// deletion all the same, and many go in batches.
    @Test(arguments: ["", "partition by hash (id)"])
    func rowsThatTheServerHasNeverCountedAreCountedBeforehand(_ partitioning: String) async throws {
        try await Stage.with { stage in
            try await stage.sql(
                """
                create table public.posts (id int, author uuid references auth.users on delete cascade)
                \(unsafeSQL: partitioning)
                """
            )
            if !partitioning.isEmpty {
                try await stage.sql(
                    "create table public.all_posts partition of public.posts for values with (modulus 1, remainder 0)"
                )
            }
            try await stage.sql("grant select, delete on public.posts to postgres")
            let person = try await stage.signUp()
            try await stage.sql("insert into public.posts select g, \(person.id) from generate_series(1, 12) as g")
            var policy = Stage.swift
            policy.maximumRows = 11
            let request = try await stage.request(person)
            try await stage.drive(request, policy)
            #expect(try await stage.situation(request)?.blockers?.map(\.table) == ["public.posts"])
            #expect(try await stage.situation(request)?.code == .tooLarge)
            #expect(try await stage.count("select from public.posts") == 12)
            policy.maximumRows = 12
            policy.batchRows = 5
            #expect(try await stage.drive(request, policy) == .ended(.verified))
            #expect(try await stage.counts(of: .deleteRows, request)["batched_rows"] == 12)
        }
    }

    /// A key does not reach rows of a table that inherits from the key's table; the search finds them.
    @Test(arguments: [3, 2500]) func whatInheritsFromATableIsLeftWhereItIs(_ rows: Int) async throws {
        try await Stage.with { stage in
            try await stage.createPosts()
            for statement in [
                "create table public.old_posts () inherits (public.posts)",
                "create table public.orders (buyer uuid references auth.users)",
                "create table public.old_orders () inherits (public.orders)",
                "grant select, delete on all tables in schema public to postgres",
            ] { try await stage.sql(Statement(unsafeSQL: statement)) }
            let person = try await stage.signUp()
            try await stage.addPosts(rows, of: person)
            try await stage.sql("insert into public.old_posts select g, \(person.id) from generate_series(1, 3) as g")
            try await stage.sql("insert into public.old_orders values (\(person.id))")
            var policy = Stage.swift
            policy.batchRows = 1000
            let request = try await stage.request(person)
            try await stage.drive(request, policy)
            let findings = try await stage.situation(request)?.findings
            #expect(findings?.map(\.column) == ["public.old_orders.buyer", "public.old_posts.author"])
            #expect(findings?.map(\.count) == [1, 3])
        }
    }

    /// A cascade by a key without an index takes as long as a scan of its table.
    @Test func aDeleteMayTakeLongerThanStatementsUsuallyMay() async throws {
        try await Stage.with { stage in
            try await stage.sql(
                "create table public.posts (id int, author uuid references auth.users on delete cascade)"
            )
            try await stage.sql(
                """
                create function public.take_time() returns trigger language plpgsql as
                $$ begin perform pg_sleep(5.5); return old; end $$
                """
            )
            try await stage.sql(
                "create trigger take_time before delete on public.posts for each row execute function public.take_time()"
            )
            let person = try await stage.signUp()
            try await stage.sql("insert into public.posts values (1, \(person.id))")
            let request = try await stage.request(person)
            var hasty = PoolConfiguration(connection: stage.database.configuration)
            hasty.connection.statementDeadline = .seconds(5)
            // JIT compilation of the catalog query takes seconds on a busy machine.
            hasty.connection.sessionSettings = ["jit": "off"]
            let logger = Logger.silent
            try await Pool.withPool(hasty, logger: logger) { pool in
                let pause = try await DeletionDriver(stage.services(pool: pool)).drive(request)
                #expect(pause == .ended(.verified))
            }
        }
    }

    @Test func whatTheDatabaseRefusesIsToldAndTriedAgain() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let request = try await stage.request(person)
            try await stage.sql("alter table auth.flow_state rename to away")
            let told = Situation(.failing, detail: "lock_out: SQLSTATE 42P01")
            #expect(try await stage.drive(request) == .failed(after: .seconds(30), told))
            #expect(try await stage.drive(request) == .failed(after: .seconds(60), told))
            #expect(try await stage.situation(request) == told)
            try await stage.sql("alter table auth.away rename to flow_state")
            #expect(try await stage.drive(request) == .ended(.verified))
        }
    }

    /// Where the preflight is slow, the lock-out is as slow to begin, and would never find a fresh preflight.
    @Test func whereThePreflightTookLongItHoldsLong() async throws {
        try await Stage.with { stage in
            let person = try await stage.signUp()
            let request = try await stage.request(person)
            let pause = try await stage.drive(request, once: .after(.preflight)) {
                try await stage.sql(
                    """
                    update accountctl.deletion_steps
                    set started_at = started_at - interval '10 minutes', finished_at = finished_at - interval '5 minutes'
                    """
                )
            }
            #expect(pause == .ended(.verified))
            let runs: Statement = "select runs::int from accountctl.deletion_steps where step = 'preflight'"
            #expect(try await stage.value(runs, as: Int.self) == 1)
        }
    }

    @Test func betweenTwoBatchesOthersHaveTheConnection() async throws {
        try await Stage.with { stage in
            try await stage.createPosts()
            let person = try await stage.signUp()
            try await stage.addPosts(250, of: person)
            let request = try await stage.request(person)
            let pauses = Counter()
            // The deletion has one of three connections.
            try await stage.pool.withConnection { _ in
                try await stage.pool.withConnection { _ in
                    var policy = Stage.swift
                    policy.batchRows = 100
                    let pause = try await stage.drive(request, policy) { point in
                        guard point == .between(.deleteRows) else { return }
                        try await stage.pool.withConnection { _ = try $0.one("select 1", as: Int.self) }
                        pauses.add()
                    }
                    #expect(pause == .ended(.verified))
                }
            }
            #expect(pauses.value == 3)
        }
    }
}
